/* SPDX-License-Identifier: MIT */
/*
 * Waits that are open when a report is made: they have no end yet, and may have begun before the
 * profiler was started. Found in /proc, with whom they wait for.
 */
#ifndef PROFILERS_SCHED_OPEN_WAITS_H
#define PROFILERS_SCHED_OPEN_WAITS_H

#include "attar/builtin.h"
#include "attar/states.h"
#include "attar/wait.h"

/*
 * Which waits the profiler is about. Of the whole system, only those are shown for which programs
 * do not wait in a healthy system.
 */
typedef bool open_waits_fn(const void *self, const struct attar_wait *wait);

/*
 * ns: since when the thread waits, as far as the profiler knows; 0: it has seen nothing of the
 * thread, which then waits since the start at least; the time of the report: it is not known. The
 * last two are asked for in /proc.
 */
typedef uint64_t open_waits_since_fn(const struct attar_run *run, const void *self, pid_t tid);

/* The same from a table of states by TID: since when the thread is in this state. */
uint64_t open_waits_since(
	const struct attar_run *run, struct attar_states *states, pid_t tid, uint32_t asleep);

enum { OPEN_WAIT_COMM_BYTES = 16 };

/* How unusual a wait is in a healthy system; pipelines wait for data, and shells for children. */
enum open_wait_rank {
	OPEN_WAIT_STUCK,    /* for somebody who is stopped or has exited, or in a circle */
	OPEN_WAIT_UNWANTED, /* for a lock, a disk or the server of a file system */
	OPEN_WAIT_PEER,
	OPEN_WAIT_CHILD,
	OPEN_WAIT_OTHER,
	OPEN_WAIT_IDLE,
};

/* The waits of threads with one name for the same. */
struct open_wait {
	char comm[OPEN_WAIT_COMM_BYTES];
	char what[ATTAR_WAIT_TEXT_BYTES]; /* after "waits for" */
	char then[ATTAR_WAIT_TEXT_BYTES]; /* "holder (77) waits for ...", in the end; "": nothing */
	enum attar_wait_kind kind;
	enum open_wait_rank rank;
	pid_t pid, tid; /* of the longest; pid 0: unknown */
	uint64_t threads;
	uint64_t longest;    /* ns, at least; 0: unknown */
	bool is_lower_bound; /* it began before the profiler, and it is not known when */
};

/* The most unusual first, then the longest. {0} before its first use. */
struct open_waits {
	struct open_wait *at; /* owned */
	size_t n;
	uint64_t common; /* threads with waits that are not shown for the whole system */
	uint64_t unread; /* threads for which no time was left */
};

/*
 * Threads that waited when the measurement or the recording began, and when they had their first
 * event. Zeroed at first.
 */
struct former_waits {
	struct former_wait *at; /* by tid */
	size_t n;
	uint64_t unread;         /* threads for which no time was left */
	bool is_read, is_system; /* is_system: a recording has the threads of the machine */
};

/* For attar_profiler.turn: reads what selected threads wait for, once. 0 or -ENOMEM. */
int former_waits_turn(struct attar_run *run, struct former_waits *former);

/* To be called for each event that shows a change of a thread. 0 or -ENOMEM. */
int former_waits_note(struct attar_run *run, struct former_waits *former, pid_t tid, uint64_t time);
void former_waits_done(struct former_waits *former);

/* What a profiler knows of its threads. */
struct open_waits_opts {
	const void *self;
	open_waits_fn *is_wanted;
	open_waits_since_fn *since;
	uint64_t than; /* ns: only waits that last for this time */
	/* Of the threads of a process that wait for less than this, ns, only a few are read. */
	uint64_t short_ns;
	const struct former_waits *former; /* NULL: not noted */
};

/*
 * Finds the waits of selected threads that are open now, or were when a recording ended; none in
 * intervals of a recording or of the whole system. Returns 0 or a negative errno;
 * open_waits_done() also after an error.
 */
int open_waits_find(struct attar_run *run, enum attar_scope scope,
	const struct open_waits_opts *opts, struct open_waits *waits);
void open_waits_done(struct open_waits *waits);

/* Says how many threads no time was left for. */
void open_waits_remark(const struct open_waits *waits, struct attar_report *report);

/*
 * The waits as a table of the report. A second table has the waits that began before the
 * measurement or the recording, and have ended.
 */
int open_waits_report(struct attar_run *run, struct attar_report *report, enum attar_scope scope,
	const struct open_waits_opts *opts);

#endif
