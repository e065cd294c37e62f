/* SPDX-License-Identifier: MIT */
/* What a thread waits for, in words. */
#include <stdio.h>

#include "attar/private/wait.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "wait/wait.h"

bool wait_is_idle(const struct attar_wait *wait)
{
	CHECK_ARG_OR(wait, "wait", false);
	switch (wait->kind) {
	case ATTAR_WAIT_TIME:
	case ATTAR_WAIT_EVENTS:
	case ATTAR_WAIT_CLIENTS:
	case ATTAR_WAIT_TERMINAL:
	case ATTAR_WAIT_SIGNAL:
	case ATTAR_WAIT_KERNEL:
		return true;
	default:
		return false;
	}
}

static const char *text_of_state(char state)
{
	switch (state) {
	case 'R':
		return "runs";
	case 'T':
		return "is stopped";
	case 't':
		return "is stopped by a debugger";
	case 'D':
		return "is in uninterruptible sleep";
	case 'Z':
		return "has exited";
	case 'X':
		return "has ended";
	default:
		return NULL;
	}
}

/* ", held by worker (1235), which is stopped"; nothing if the other end is unknown. */
static void text_add_other(struct buf *b, const struct attar_wait *wait, const char *relation)
{
	const char *state = text_of_state(wait->other_state);

	if (!wait->pid)
		return;
	if (*wait->comm)
		buf_printf(b, "%s%s (%d)", relation, wait->comm, (int)(wait->tid ?: wait->pid));
	else
		buf_printf(b, "%s%s %d", relation, wait->tid ? "thread" : "process",
			(int)(wait->tid ?: wait->pid));
	if (wait->others)
		buf_printf(b, " %s %u other process%s", /* all of them have the open file */
			wait->kind == ATTAR_WAIT_FILE_LOCK ? "and" : "or", wait->others,
			wait->others == 1 ? "" : "es");
	else if (state)
		buf_printf(b, ", which %s", state);
}

/* "data of pipe:[123], written by writer (77)" */
static void text_add_transfer(struct buf *b, const struct attar_wait *wait, const char *what)
{
	buf_printf(b, "%s%s%s%s%s", wait->writes ? "room in" : "data of", *what ? " " : "", what,
		*wait->object ? " " : "", wait->object);
	text_add_other(b, wait, wait->writes ? ", read by " : ", written by ");
}

static void text_add_connection(struct buf *b, const struct attar_wait *wait, const char *what)
{
	if (!wait->connects && wait->fd < 0) { /* it is closed */
		buf_str(b, wait->object);
		text_add_other(b, wait, ", read by ");
		return;
	}
	if (!wait->connects) {
		text_add_transfer(b, wait, what);
		return;
	}
	buf_printf(b, "the connection to %s", *wait->object ? wait->object : "another host");
	text_add_other(b, wait, ", to be accepted by ");
}

/* The thread may wait for a file of another kind, or outside of system calls. */
static void text_add_unknown(struct buf *b, const struct attar_wait *wait)
{
	if (wait->fd >= 0 && *wait->object)
		text_add_transfer(b, wait, "");
	else
		buf_printf(b, "%s%s", *wait->object ? "the kernel function " : "something unknown",
			wait->object);
}

/* Texts without an object and another end. */
static const char *const text_fixed[] = {
	[ATTAR_WAIT_NONE] = "nothing: it runs",
	[ATTAR_WAIT_DISK] = "a disk or file system",
	[ATTAR_WAIT_TIME] = "a time to pass",
	[ATTAR_WAIT_TERMINAL] = "input of a terminal",
	[ATTAR_WAIT_SIGNAL] = "a signal",
	[ATTAR_WAIT_KERNEL] = "work of the kernel",
};

/* A semaphore of System V; or a futex, which other processes may have mapped, too. */
static void text_add_condition(struct buf *b, const struct attar_wait *wait)
{
	const char *runs = *wait->object ? strstr(wait->object, ") and ") ? " run" : " runs" : "";

	if (!wait->address) {
		buf_str(b, wait->object);
		text_add_other(b, wait, ", last changed by ");
		return;
	}
	buf_printf(b, "another %s to signal the condition at 0x%llx",
		wait->pid ? "process" : "thread", (unsigned long long)wait->address);
	buf_printf(b, "%s%s%s", *wait->object ? ", while " : "", wait->object, runs);
	text_add_other(b, wait, ", in memory that is shared with ");
	if (!wait->pid && wait->other_state == 'X')
		buf_str(b, ", but all threads of the process wait for each other");
}

static void text_add_pipe(struct buf *b, const struct attar_wait *wait)
{
	if (wait->connects) { /* open(2) of a FIFO */
		buf_printf(b, "another process to open %s for %s",
			*wait->object ? wait->object : "a FIFO",
			wait->writes ? "reading" : "writing");
	} else if (wait->fd >= 0 || !*wait->object) {
		text_add_transfer(b, wait, *wait->object ? "" : "a pipe");
	} else {
		buf_printf(b, "%s in %s", wait->writes ? "room" : "data", wait->object);
		text_add_other(b, wait, wait->writes ? ", last read by " : ", last written by ");
	}
}

static void text_add(struct buf *b, const struct attar_wait *wait)
{
	switch (wait->kind) {
	case ATTAR_WAIT_LOCK:
		buf_printf(b, "the lock at 0x%llx", (unsigned long long)wait->address);
		if (*wait->object) /* by readers, or at a fork */
			buf_printf(b, ", held %s", wait->object);
		else
			text_add_other(b, wait, ", held by ");
		break;
	case ATTAR_WAIT_CONDITION:
		text_add_condition(b, wait);
		break;
	case ATTAR_WAIT_EVENTS:
		buf_printf(b, "an event of %s", *wait->object ? wait->object : "several files");
		text_add_other(b, wait, ", signalled by ");
		break;
	case ATTAR_WAIT_THREAD:
	case ATTAR_WAIT_CHILD:
		buf_str(b, wait->pid ? "" : "a child process");
		text_add_other(b, wait, "the end of ");
		break;
	case ATTAR_WAIT_PIPE:
		text_add_pipe(b, wait);
		break;
	case ATTAR_WAIT_UNIX:
		text_add_connection(b, wait, "a UNIX socket");
		break;
	case ATTAR_WAIT_NETWORK:
		text_add_connection(b, wait, "the connection with");
		break;
	case ATTAR_WAIT_FILE_LOCK:
		buf_printf(b, "the lock of %s%s", *wait->object ? "file " : "a file", wait->object);
		text_add_other(b, wait, ", held by ");
		break;
	case ATTAR_WAIT_SERVER:
		buf_printf(b, "%s%s", *wait->object == '/' ? "the file system " : "",
			*wait->object ? wait->object : "a file system");
		text_add_other(b, wait, ", served by ");
		break;
	case ATTAR_WAIT_CLIENTS:
		buf_str(b, *wait->object ? wait->object : "a client to connect");
		break;
	case ATTAR_WAIT_STOPPED:
		buf_str(b, wait->pid       ? ""
			   : *wait->object ? wait->object
					   : "SIGCONT: it is stopped");
		text_add_other(b, wait, "its debugger ");
		break;
	default:
		text_add_unknown(b, wait);
	}
}

const char *attar_wait_text(const struct attar_wait *wait, char text[ATTAR_WAIT_TEXT_BYTES])
{
	struct buf b _cleanup_(buf_done) = {0};
	const char *fixed = NULL;

	CHECK_ARG_OR(wait, "wait", "");
	CHECK_ARG_OR(text, "text", "");
	if ((size_t)wait->kind < ARRAY_SIZE(text_fixed))
		fixed = text_fixed[wait->kind];
	if (fixed)
		buf_str(&b, fixed);
	else
		text_add(&b, wait);
	snprintf(text, ATTAR_WAIT_TEXT_BYTES, "%s", buf_text(&b));
	return text;
}
