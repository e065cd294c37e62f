/* SPDX-License-Identifier: MIT */
/*
 * Which thread of the process runs while others wait for a condition: the one that holds the global
 * lock of an interpreter, or a monitor of Java, is not known otherwise.
 */
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "base/proc.h"
#include "wait/wait.h"

struct search {
	struct attar_waits *waits;
	struct wait_running found;
	unsigned n;
};

static int see_thread(void *ctx, int tid)
{
	struct search *search = ctx;
	struct wait_stat stat;

	if (search->n++ == WAIT_THREADS_MAX)
		return 1;
	stat = wait_stat_of(search->waits, search->found.pid, tid);
	if (stat.state != 'R')
		return wait_keep_stat(search->waits, &stat);
	if (search->found.tid)
		search->found.others++;
	else
		search->found.tid = tid;
	return 0;
}

/* ---- hangs ---- */

enum { HUNG_THREADS_MAX = 64 };

struct hang {
	pid_t pid;
	unsigned n;
	uint64_t turns; /* on a CPU, of all threads */
};

static int hang_add_turns(void *ctx, int tid)
{
	struct hang *hang = ctx;
	struct proc_sched sched;

	if (++hang->n > HUNG_THREADS_MAX || !proc_read_sched(hang->pid, tid, &sched))
		return 1;
	hang->turns += sched.turns;
	return 0;
}

/* Whether the thread does not wait for another thread of the process only, without a time limit. */
static int hang_has_end(void *ctx, int tid)
{
	const struct hang *hang = ctx;
	char name[64], *line _cleanup_free_ = NULL;
	uint64_t operation, value, time;
	long call;

	snprintf(name, sizeof(name), "task/%d/syscall", tid);
	line = wait_line(hang->pid, name);
	if (!line || sscanf(line, "%ld %*x %" SCNx64 " %" SCNx64 " %" SCNx64, &call, &operation,
			     &value, &time) != 4)
		return 1;
	if (call != SYS_futex || time)
		return 1;
	if (operation & FUTEX_PRIVATE_FLAG)
		return 0;
	snprintf(name, sizeof(name), "/proc/%d/task/%d", (int)hang->pid, (int)(uint32_t)value);
	return !(uint32_t)value || access(name, F_OK) < 0; /* otherwise it is a join */
}

/* Whether a handler of a signal may go on: no handler of an error or of libc does. */
static bool hang_has_handlers(pid_t pid)
{
	enum { CANCEL = 32, SET_ID = 33 };
	static const int others[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, CANCEL, SET_ID};
	struct buf text _cleanup_(buf_done) = {0};
	uint64_t handlers;
	const char *caught;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (proc_read_line(path, &text) < 0)
		return true;
	caught = strstr(buf_text(&text), "\nSigCgt:\t");
	if (!caught)
		return true;
	handlers = strtoull(caught + strlen("\nSigCgt:\t"), NULL, 16);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		handlers &= ~(UINT64_C(1) << (others[i] - 1));
	return handlers;
}

/*
 * Whether all threads of the process wait for each other: none of them runs between the first and
 * the last moment at which they are read.
 */
static bool is_hung(const struct wait_thread *thread, pid_t pid)
{
	struct hang before = {.pid = pid}, after = {.pid = pid};
	const bool is_hung = wait_is_own_namespace(thread) && !hang_has_handlers(pid) &&
			     proc_each_thread(pid, hang_add_turns, &before) == 0 &&
			     proc_each_thread(pid, hang_has_end, &before) == 0 &&
			     proc_each_thread(pid, hang_add_turns, &after) == 0;

	attar_error_clear(); /* it has ended */
	return is_hung && before.turns == after.turns && before.n == after.n;
}

/* ---- threads that run ---- */

/* Reads the threads of the process once. 0 or -ENOMEM. */
static int find_running(
	struct attar_waits *waits, pid_t tid, pid_t pid, struct wait_running *ret_found)
{
	struct search search = {.waits = waits, .found = {.pid = pid}};
	struct attar_wait other = {0};

	vec_each (&waits->running, it)
		if (it->pid == pid) {
			*ret_found = *it;
			return 0;
		}
	if (proc_each_thread(tid, see_thread, &search) < 0)
		attar_error_clear(); /* it has ended */
	if (search.found.tid) {
		wait_set_other(waits, &other, pid, search.found.tid);
		snprintf(search.found.comm, sizeof(search.found.comm), "%s", other.comm);
	} else
		search.found.is_hung =
			is_hung(&(struct wait_thread){.waits = waits, .tid = tid}, pid);
	*ret_found = search.found;
	return vec_push(&waits->running, search.found) < 0 ? base_oom() : 0;
}

int wait_running(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	struct wait_running found = {0};
	pid_t pid;
	int r = 0;

	if (!waits->has_running)
		return 0;
	pid = wait_process(thread);
	if (pid)
		r = find_running(waits, thread->tid, pid, &found);
	if (found.is_hung)
		wait->other_state = 'X';
	if (found.tid && found.tid != thread->tid && found.others)
		wait_set_object(wait, "%s (%d) and %u other thread%s", found.comm, (int)found.tid,
			found.others, found.others == 1 ? "" : "s");
	else if (found.tid && found.tid != thread->tid)
		wait_set_object(wait, "%s (%d)", found.comm, (int)found.tid);
	return r;
}
