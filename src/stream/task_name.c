/* SPDX-License-Identifier: MIT */
#include "stream/task_name.h"

#include <stdio.h>
#include <unistd.h>

#include "base/proc.h"

/*
 * "kworker/0:1+events" is working on events, "kworker/u8:2-flush" last worked on flush
 * (wq_worker_comm() of the kernel). A rescuer is named after its queue, "kworker/R-mm_percpu_wq":
 * there '-' is part of the name.
 */
static size_t worker_length(const char *shown)
{
	static const char prefix[] = "kworker/", rescuer[] = "kworker/R-";
	bool numbered = !strncmp(shown, prefix, sizeof(prefix) - 1) &&
			strncmp(shown, rescuer, sizeof(rescuer) - 1) != 0;

	return strcspn(shown, numbered ? "+-" : "+");
}

size_t task_name_length(const char *shown, uint64_t flags)
{
	size_t length = strlen(shown);

	if (!(flags & TASK_NAME_KERNEL_THREAD))
		return length;
	if (flags & TASK_NAME_WORKER)
		length = worker_length(shown);
	return MIN(length, (size_t)TASK_NAME_MAX);
}

/*
 * A time in ticks since the boot includes suspension, which CLOCK_MONOTONIC does not count. In
 * whole ticks, so that each reading of the same file has the same result.
 */
static uint64_t monotonic_of(unsigned long long ticks)
{
	uint64_t tick = 1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK), time = ticks * tick,
		 now = base_now(), suspended = (base_now_boot() - now) / tick * tick;

	return time > suspended ? time - suspended : 0;
}

/* Parses the text of /proc/PID/stat: "PID (name) state ppid ...". */
static int take_stat(struct buf *b, struct task_facts *ret_facts)
{
	char *name = strchr(buf_text(b), '('), *end = strrchr(buf_text(b), ')');
	unsigned long long flags, start;
	int parent;
	size_t n;

	/*
	 * state, ppid, pgrp, session, tty, tpgid, flags, 4 counts of faults, 4 times, priority,
	 * nice, threads, itrealvalue, starttime
	 */
	if (!name || !end || end < ++name ||
		sscanf(end + 1,
			" %*c %d %*d %*d %*d %*d %llu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
			"%*d %llu",
			&parent, &flags, &start) != 3)
		return -ESRCH;
	if (ret_facts)
		*ret_facts = (struct task_facts){.parent = parent,
			.started = monotonic_of(start),
			.is_kernel = flags & TASK_NAME_KERNEL_THREAD};
	*end = '\0';
	n = (size_t)(end - name);
	memmove(b->data, name, n + 1);
	b->len = n;
	if (n > TASK_NAME_MAX || strpbrk(b->data, "+-"))
		b->len = task_name_length(b->data, flags);
	b->data[b->len] = '\0';
	return 0;
}

int task_name_read(pid_t pid, pid_t tid, struct buf *b, struct task_facts *ret_facts)
{
	char path[64];
	int r;

	buf_reset(b);
	if (pid && pid != tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	else
		snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	r = proc_read_line(path, b);
	return r < 0 ? r : take_stat(b, ret_facts);
}
