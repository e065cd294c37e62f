/* SPDX-License-Identifier: MIT */
/*
 * Checks the times of threads that a profiler derives from events with what the kernel counts for
 * each thread all the time: events can be lost, or not delivered.
 */
#ifndef PROFILERS_SCHED_THREAD_CHECK_H
#define PROFILERS_SCHED_THREAD_CHECK_H

#include "sched/thread_sched.h"

/* CHECK_OFF: neither on a CPU nor waiting for one. */
enum thread_check_time { CHECK_RUNNING, CHECK_READY, CHECK_OFF, CHECK_TIMES };

/* Besides the bits of times: what the rows lack is expected, such as waits that have not ended. */
enum { CHECK_ONLY_MORE = 1 << CHECK_TIMES };

/* What the rows of a report have of a thread, ns. A thread may have several of these. */
struct thread_seen {
	pid_t tid;
	uint64_t times[CHECK_TIMES];
	uint64_t queued; /* of times: a wait for a CPU that has not ended; it is counted later */
};

/* Counts of the kernel at one moment. */
struct thread_counts {
	struct thread_scheds scheds;
	uint64_t *taken; /* by CPU, ns: the time that interrupts and the hypervisor took */
	size_t cpus;
};

/* What the kernel counted of a thread, as if it had been read at the ends of the time. */
struct thread_counted {
	uint64_t times[CHECK_TIMES]; /* ns */
	uint64_t of, slack;          /* ns: the time of the thread; how wrong each may be */
	uint64_t turns;              /* on a CPU */
};

/*
 * Between two readings, for the time from since to until, ns. False: unknown, such as of a thread
 * that the first reading lacks, or that did nothing but wait.
 */
bool thread_check_counted(const struct attar_run *run, const struct thread_scheds *from,
	const struct thread_scheds *to, uint64_t since, uint64_t until, pid_t tid,
	struct thread_counted *ret_counted);

/* Zeroed before its first use. */
struct thread_check {
	struct thread_counts began, last, now;
	uint64_t until, last_until; /* ns: the end of the last report, and of the one before */
};

/* For attar_profiler.turn: reads the counts at the start. 0 or -ENOMEM. */
int thread_check_turn(struct attar_run *run, struct thread_check *check);

/*
 * Adds a table of the times that differ by more than 5 % of the report's time, if there are any.
 * Sorts `seen`. times: bits of enum thread_check_time that the rows have, and CHECK_ONLY_MORE. Of a
 * recording, only the last report is checked, if `attar record` made it. 0 or -ENOMEM.
 */
int thread_check_report(struct attar_run *run, struct thread_check *check,
	struct attar_report *report, enum attar_scope scope, struct thread_seen *seen, size_t n,
	unsigned times);

void thread_check_done(struct thread_check *check);

#endif
