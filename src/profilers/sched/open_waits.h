/* SPDX-License-Identifier: MIT */
/*
 * Waits that are open when a report is made: they have no end yet, and may have begun before the
 * profiler was started. Found in /proc, with whom they wait for.
 */
#ifndef PROFILERS_SCHED_OPEN_WAITS_H
#define PROFILERS_SCHED_OPEN_WAITS_H

#include "attar/run.h"
#include "attar/states.h"
#include "attar/wait.h"

/*
 * Which waits the profiler is about. Of the whole system, only those are shown for which programs
 * do not wait in a healthy system.
 */
typedef bool open_waits_fn(const void *self, const struct attar_wait *wait);

/*
 * ns: since when the thread waits, as far as the profiler knows; 0: it has seen nothing of the
 * thread, which then waits since the start at least; the time of the report: it is not known.
 */
typedef uint64_t open_waits_since_fn(const struct attar_run *run, const void *self, pid_t tid);

/* The same from a table of states by TID: since when the thread is in this state. */
uint64_t open_waits_since(
	const struct attar_run *run, struct attar_states *states, pid_t tid, uint32_t asleep);

/*
 * Adds a table of the waits of selected threads that are open now and last for at least `than` ns.
 * Waits of threads of one name for the same are one row. Nothing for recordings, and for the whole
 * system in intervals. Returns 0 or a negative errno.
 */
int open_waits_report(struct attar_run *run, struct attar_report *report, enum attar_scope scope,
	const void *self, open_waits_fn *is_wanted, open_waits_since_fn *since, uint64_t than);

#endif
