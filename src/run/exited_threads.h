/* SPDX-License-Identifier: MIT */
/* Threads that began while a run counted: what was their own, told when they end. */
#ifndef RUN_EXITED_THREADS_H
#define RUN_EXITED_THREADS_H

#include "attar/run.h"
#include "base/map.h"
#include "base/vec.h"

/* One that has ended. */
struct ended_thread {
	pid_t tid;
	pid_t starter;              /* the watched thread in whose counters it was counted */
	const char *comm;           /* the last that was known; "": none. Borrowed from the run */
	bool told;                  /* false: its count is in its starter's */
	bool unwatched;             /* it did not end: see attar_process.unwatched */
	struct attar_value *values; /* its own, of each of the run's counters */
	uint32_t *parts;            /* of each value: CPUs that reported it so far */
};

struct threads {
	VEC(struct ended_thread) ended; /* in the order of their end */
	struct map by_tid;              /* the newest of that number in ended */
	struct map instances;           /* a counter's id -> its number << 32 | its instance */
	struct map running;             /* tid -> its starter's, of those that have not ended */
	struct map mixed;     /* tid -> 1: the starters of any that has no count of its own */
	struct map unwatched; /* tid -> 1: the watched threads that are */
	bool too_many;
	bool has_losses; /* of records: anybody may be mixed */
};

/* Asks for the watched threads to be told apart, and their names to be kept. Only from open(). */
void run_count_each_thread(struct attar_run *run);

/* What the thread was called when it was looked at last; NULL: nobody knows. Borrowed from the run. */
const char *run_comm(const struct attar_run *run, pid_t tid);

/* Thread number i of those that were started meanwhile and have ended; NULL after the last. */
const struct ended_thread *run_ended_thread(const struct attar_run *run, size_t i);

/* A part of what the watched thread did was not counted, see attar_process.unwatched. */
bool run_is_unwatched(const struct attar_run *run, pid_t tid);

/*
 * Finds whose counts have those of started threads in them, when the counting has ended. 0 or
 * -ENOMEM.
 */
int threads_settle(struct attar_run *run);

/* The count of the watched thread has that of others in it. After threads_settle(). */
bool run_is_mixed(const struct attar_run *run, pid_t tid);

/*
 * All parts of the ended thread's value of counter number i have come; otherwise its starter's
 * value has the rest.
 */
bool run_is_complete(const struct attar_run *run, const struct ended_thread *ended, size_t i);

/* The kernel tells of them in this run: not in intervals, nor before 6.12. */
bool exited_threads_reported(const struct attar_run *run);

/* What an event needs for it. first: it tells of ends for all. */
void threads_attr(struct perf_event_attr *attr, bool first);

/* After the counters were opened, and before they are opened again. 0 or -ENOMEM, as for all below. */
int threads_open(struct attar_run *run);
void threads_done(struct attar_run *run);

/* Takes what a record of the stream tells; most tell nothing of threads. */
int threads_deliver(struct attar_run *run, const struct attar_event *ev);

/* Asks for the names of the watched threads, for run_comm(). */
int threads_remember_comms(struct attar_run *run);

/* Into the report: how many could not be told apart. */
void threads_remark(const struct attar_run *run, struct attar_report *report);

#endif
