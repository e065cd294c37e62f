/* SPDX-License-Identifier: MIT */
/* What a thread waits for, in words. */
#include <stdio.h>

#include "base/buf.h"
#include "base/check_arg.h"
#include "wait/wait.h"

bool attar_wait_is_idle(const struct attar_wait *wait)
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
		return "waits for a device";
	case 'Z':
		return "has exited";
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
	buf_printf(b, "%s%s (%d)", relation, wait->comm, (int)(wait->tid ?: wait->pid));
	if (wait->others)
		buf_printf(
			b, " or %u other process%s", wait->others, wait->others == 1 ? "" : "es");
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

static void text_add_network(struct buf *b, const struct attar_wait *wait)
{
	if (!wait->connects) {
		text_add_transfer(b, wait, "the connection with");
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
	[ATTAR_WAIT_EVENTS] = "an event of several files",
	[ATTAR_WAIT_TERMINAL] = "input of a terminal",
	[ATTAR_WAIT_SIGNAL] = "a signal",
	[ATTAR_WAIT_KERNEL] = "work of the kernel",
};

static void text_add(struct buf *b, const struct attar_wait *wait)
{
	switch (wait->kind) {
	case ATTAR_WAIT_LOCK:
		buf_printf(b, "the lock at 0x%llx", (unsigned long long)wait->address);
		text_add_other(b, wait, ", held by ");
		break;
	case ATTAR_WAIT_CONDITION:
		buf_printf(b, "another thread to signal the condition at 0x%llx%s%s%s",
			(unsigned long long)wait->address, *wait->object ? ", while " : "",
			wait->object,
			!*wait->object                   ? ""
			: strstr(wait->object, ") and ") ? " run"
							 : " runs");
		break;
	case ATTAR_WAIT_THREAD:
	case ATTAR_WAIT_CHILD:
		buf_str(b, wait->pid ? "" : "a child process");
		text_add_other(b, wait, "the end of ");
		break;
	case ATTAR_WAIT_PIPE:
		text_add_transfer(b, wait, *wait->object ? "" : "a pipe");
		break;
	case ATTAR_WAIT_UNIX:
		text_add_transfer(b, wait, "a UNIX socket");
		break;
	case ATTAR_WAIT_NETWORK:
		text_add_network(b, wait);
		break;
	case ATTAR_WAIT_FILE_LOCK:
		buf_printf(b, "the lock of %s%s", *wait->object ? "file " : "a file", wait->object);
		text_add_other(b, wait, ", held by ");
		break;
	case ATTAR_WAIT_SERVER:
		buf_printf(b, "the file system %s", wait->object);
		text_add_other(b, wait, ", served by ");
		break;
	case ATTAR_WAIT_CLIENTS:
		buf_str(b, *wait->object ? wait->object : "a client to connect");
		break;
	case ATTAR_WAIT_STOPPED:
		buf_str(b, wait->pid ? "" : "SIGCONT: it is stopped");
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
