/* SPDX-License-Identifier: MIT */
/*
 * Which thread of the process runs while others wait for a condition: the one that holds the global
 * lock of an interpreter, or a monitor of Java, is not known otherwise.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/proc.h"
#include "wait/wait.h"

struct search {
	struct wait_running found;
	unsigned n;
};

static int see_thread(void *ctx, int tid)
{
	struct search *search = ctx;

	if (search->n++ == WAIT_THREADS_MAX)
		return 1;
	if (proc_thread_state(tid) != 'R')
		return 0;
	if (search->found.tid)
		search->found.others++;
	else
		search->found.tid = tid;
	return 0;
}

/* Reads the threads of the process once. 0 or -ENOMEM. */
static int find_running(
	struct attar_waits *waits, pid_t tid, pid_t pid, struct wait_running *ret_found)
{
	struct search search = {.found = {.pid = pid}};
	struct attar_wait other = {0};

	vec_each (&waits->running, it)
		if (it->pid == pid) {
			*ret_found = *it;
			return 0;
		}
	if (proc_each_thread(tid, see_thread, &search) < 0)
		attar_error_clear(); /* it has ended */
	if (search.found.tid) {
		wait_set_other(&other, pid, search.found.tid);
		snprintf(search.found.comm, sizeof(search.found.comm), "%s", other.comm);
	}
	*ret_found = search.found;
	return vec_push(&waits->running, search.found) < 0 ? base_oom() : 0;
}

/* Callers read one process after the other: most threads are of the last one. */
static pid_t process_of(const struct attar_waits *waits, pid_t tid)
{
	const size_t n = waits->running.n;
	char path[64];

	if (n) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)waits->running.at[n - 1].pid,
			(int)tid);
		if (access(path, F_OK) == 0)
			return waits->running.at[n - 1].pid;
	}
	return wait_process_of(tid);
}

int wait_running(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	struct wait_running found = {0};
	pid_t pid;
	int r = 0;

	if (!waits->has_running)
		return 0;
	pid = process_of(waits, thread->tid);
	if (pid)
		r = find_running(waits, thread->tid, pid, &found);
	if (found.tid && found.tid != thread->tid && found.others)
		wait_set_object(wait, "%s (%d) and %u other thread%s", found.comm, (int)found.tid,
			found.others, found.others == 1 ? "" : "s");
	else if (found.tid && found.tid != thread->tid)
		wait_set_object(wait, "%s (%d)", found.comm, (int)found.tid);
	return r;
}
