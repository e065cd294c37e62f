/* SPDX-License-Identifier: MIT */
/* Threads that were created during a counting run: their own counts, reported at exit. */
#ifndef RUN_COUNTS_EXITED_H
#define RUN_COUNTS_EXITED_H

#include "attar/run.h"
#include "run/run.h"
#include "base/map.h"
#include "base/vec.h"

/* A thread that has exited. */
struct ended_thread {
	pid_t tid;
	pid_t creator;              /* the watched thread in whose counters it was counted */
	const char *comm;           /* last known name; "": none. Borrowed from the run */
	bool reported;              /* false: its count is included in its creator's */
	bool unwatched;             /* it is still running: see attar_process.unwatched */
	struct attar_value *values; /* its own, one for each of the run's counters */
	uint32_t *parts;            /* for each value: number of CPUs that reported it so far */
	uint64_t exited_at;         /* ns; 0: its EXIT record was lost */
	uint32_t previous; /* 1 + the index of an earlier thread with the same tid; 0: none */
};

/* A READ record: it is handled when all earlier FORK and EXIT records are known. */
struct thread_count {
	uint64_t time, id;
	pid_t tid;
	struct attar_value value;
};

struct threads {
	bool each;        /* per-thread counts are requested */
	bool reported;    /* see exited_threads_reported() */
	struct map comms; /* tid -> its last known name, owned by the run; kept by threads_done() */
	VEC(struct ended_thread) ended; /* in the order of exit */
	struct map by_tid;              /* tid -> index in ended of its latest user */
	struct map started;             /* tid -> when the watched thread was started, ns */
	struct map reused; /* of a recording: number of a row -> tid that another row has, too */
	VEC(struct thread_count) pending;
	uint64_t known_until; /* ns: FORK and EXIT records up to this time are known */
	struct map instances; /* event id -> counter number << 32 | instance */
	struct map watched;   /* tid -> 1: threads with their own counters that have not exited */
	struct map running;   /* tid of a running thread -> tid of its creator */
	struct map mixed;     /* tid -> 1: creators of a thread without a separate count */
	struct map unwatched; /* tid -> 1: watched threads with attar_process.unwatched */
	bool too_many;
	bool has_rest;   /* the counts have a row '[unassigned]' */
	bool has_losses; /* records were lost: any thread may be mixed */
};

SHARED_STATE(threads_of, struct threads, THREADS)

/* Requests per-thread counts and names of the watched threads. Only from open(). */
void run_count_each_thread(struct attar_run *run);

/* The last known name of the thread; NULL: unknown. Borrowed from the run. */
const char *run_comm(const struct attar_run *run, pid_t tid);

/*
 * Thread number i of those that were created during the run and have exited; NULL after the last.
 */
const struct ended_thread *run_ended_thread(const struct attar_run *run, size_t i);

/* Whether part of the thread's activity was not counted, see attar_process.unwatched. */
bool run_is_unwatched(const struct attar_run *run, pid_t tid);

/* Whether the watched threads of all such activity are known. */
bool run_knows_unwatched(const struct attar_run *run);

/*
 * Finds the threads whose counts include the counts of threads that they created. To be called
 * after counting has ended. 0 or -ENOMEM.
 */
int threads_settle(struct attar_run *run);

/* Whether the count of the watched thread includes other threads. After threads_settle(). */
bool run_is_mixed(const struct attar_run *run, pid_t tid);

/*
 * Whether all parts of the exited thread's value of counter number i have been reported; otherwise
 * its creator's value includes the rest.
 */
bool run_is_complete(const struct attar_run *run, const struct ended_thread *ended, size_t i);

/* Whether the kernel reports exited threads: not with intervals, nor before Linux 6.12. */
bool exited_threads_reported(const struct attar_run *run);

/* Sets the members of attr that per-thread counts require. */
void threads_attr(struct perf_event_attr *attr);

/*
 * To be called after the counters are opened, and before they are reopened. 0 or -ENOMEM, as all
 * below.
 */
int threads_open(struct attar_run *run);
void threads_done(struct attar_run *run);

/* Handles FORK, COMM and EXIT records of the task watch; ignores others. */
int threads_note_task(struct attar_run *run, const struct attar_event *ev);

/* Handles READ records of the counters; ignores others. */
int threads_take_count(struct attar_run *run, const struct attar_event *ev);

/* All FORK and EXIT records up to this time have been handled. */
int threads_know(struct attar_run *run, uint64_t time);

/* Sets the name of a thread, for run_comm(). 0 or -ENOMEM. */
int threads_keep_comm(struct attar_run *run, pid_t tid, const char *comm);

/* Reads the names of the watched threads, for run_comm(). */
int threads_remember_comms(struct attar_run *run);

/* Says where counts are that belong to no thread of the report, to complete "they are %s". */
const char *threads_rest(const struct attar_run *run);

/* Adds a remark to the report: how many threads have no separate counts. */
void threads_remark(const struct attar_run *run, struct attar_report *report);

#endif
