/* SPDX-License-Identifier: MIT */
/*
 * Waits that have not ended, which no event shows: of threads that cannot go on, and of the process
 * of a finding.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overview/overview.h"

static const uint64_t stuck_ns = 1000000000;

static bool is_any(const void *self, const struct attar_wait *wait)
{
	(void)self;
	(void)wait;
	return true;
}

/* One that was on no CPU since the start waits since then. */
static uint64_t waits_since(const struct attar_run *run, const void *self, pid_t tid)
{
	const struct overview *o = self;
	struct thread_sched change;
	uint64_t since;

	if (thread_scheds_change(&o->scheds_began, &o->scheds, tid, &change) && !change.turns)
		return 0;
	since = thread_times_waits_since(run, &o->times, tid);
	/* no event of the thread was watched, but it may have run in pauses */
	return since ? since : attar_run_until(run);
}

int overview_find_waits(struct overview_sums *sums)
{
	const struct open_waits_opts opts = {.self = sums->overview,
		.is_wanted = is_any,
		.since = waits_since,
		.short_ns = stuck_ns};

	return open_waits_find(sums->run, sums->scope, &opts, &sums->waits);
}

const struct open_wait *overview_stuck(const struct overview_sums *sums, uint64_t *ret_threads)
{
	const struct open_wait *first = NULL;

	*ret_threads = 0;
	/* they are sorted by rank, then by time */
	for (size_t i = 0; i < sums->waits.n; i++) {
		const struct open_wait *wait = &sums->waits.at[i];

		if (wait->rank > OPEN_WAIT_UNWANTED || wait->longest < stuck_ns)
			continue;
		first = first ? first : wait;
		*ret_threads += wait->threads;
	}
	return first;
}

int32_t overview_pid_of_wait(const struct overview_sums *sums, const struct open_wait *wait)
{
	const struct attar_thread *thread = attar_run_thread(sums->run, wait->tid);
	char path[64], line[256];
	int pid = 0;
	FILE *file;

	if (wait->pid || !attar_run_is_live(sums->run))
		return wait->pid;
	if (thread && thread->process)
		return thread->process->pid;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)wait->tid);
	file = fopen(path, "re");
	while (file && !pid && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &pid) != 1)
			pid = 0;
	if (file)
		fclose(file);
	return pid;
}

/* Whether a wait is one of those whose time is in the part. */
static bool is_of_part(const struct open_wait *wait, enum overview_part part)
{
	switch (wait->kind) {
	case ATTAR_WAIT_LOCK:
		return part == PART_LOCK;
	case ATTAR_WAIT_FILE_LOCK:
		return part == PART_LOCK || part == PART_BLOCKED;
	case ATTAR_WAIT_DISK:
		return part == PART_DISK;
	case ATTAR_WAIT_STOPPED: /* by whom */
		return part == PART_BLOCKED;
	case ATTAR_WAIT_SERVER:
		return part == PART_DISK || part == PART_PEER || part == PART_BLOCKED ||
		       part == PART_LOCK; /* a frozen file system */
	case ATTAR_WAIT_UNKNOWN:          /* a function of the kernel, such as one with a lock */
		return (part == PART_LOCK || part == PART_BLOCKED) && wait->longest >= stuck_ns;
	case ATTAR_WAIT_PIPE:
	case ATTAR_WAIT_UNIX:
	case ATTAR_WAIT_NETWORK:
	case ATTAR_WAIT_CHILD:
		return part == PART_PEER;
	default:
		return false;
	}
}

const struct open_wait *overview_wait_of(const struct overview_sums *sums,
	const struct overview_process *process, enum overview_part part)
{
	const struct open_wait *alike = NULL;

	for (size_t i = 0; i < sums->waits.n; i++) {
		const struct open_wait *wait = &sums->waits.at[i];

		if (!is_of_part(wait, part))
			continue;
		if (overview_pid_of_wait(sums, wait) == process->pid)
			return wait;
		/* threads with the same name that wait for the same are one wait */
		if (!alike && wait->threads > 1 && !strcmp(wait->comm, process->comm))
			alike = wait;
	}
	return alike;
}

/* The ports that the kernel gives to sockets of clients. */
static bool is_of_client(long port)
{
	long first = 32768, last = 60999;
	FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");

	if (file && fscanf(file, "%ld %ld", &first, &last) != 2)
		first = last = 0;
	if (file)
		fclose(file);
	return port >= first && port <= last;
}

bool overview_serves_datagrams(
	const struct overview_sums *sums, const struct overview_process *process)
{
	static const char at[] = "datagrams at ", port[] = "datagrams at port ";
	bool serves = false;

	for (size_t i = 0; i < sums->waits.n; i++) {
		const struct open_wait *wait = &sums->waits.at[i];

		if (overview_pid_of_wait(sums, wait) != process->pid)
			continue;
		if (is_of_part(wait, PART_PEER))
			return false;
		if (wait->kind == ATTAR_WAIT_CLIENTS && !strncmp(wait->what, at, sizeof(at) - 1) &&
			(strncmp(wait->what, port, sizeof(port) - 1) != 0 ||
				!is_of_client(strtol(wait->what + sizeof(port) - 1, NULL, 10))))
			serves = true;
	}
	return serves;
}
