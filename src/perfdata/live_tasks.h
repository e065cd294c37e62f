/* SPDX-License-Identifier: MIT */
/*
 * The tasks that run while a recording is written to files that follow each other: their names and
 * mappings, and the kernel's symbols that appeared, such as symbols of BPF programs, according to
 * the records that were written. The next file repeats them, so that each file can be read alone.
 *
 * Records are given in the order of the rings. The records of a round are applied in the order of
 * their times, up to the newest time of the round before, since later rounds have newer ones only.
 * The others wait, and the next file has them as they are.
 *
 * Bounds: the running threads and those that ended in the last two rounds, 65,536 mappings of a
 * process, max_memory bytes of all mappings, 65,536 symbols, and the records of two rounds.
 */
#ifndef PERFDATA_LIVE_TASKS_H
#define PERFDATA_LIVE_TASKS_H

#include "attar/record.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

enum { LIVE_MAPPINGS_MAX = 65536, LIVE_SYMBOLS_MAX = 65536 };

/* Up to a NUL; the kernel's names have up to 15 bytes, names of workers up to 63. */
struct live_name {
	char text[64];
};

struct live_mapping {
	uint64_t start, len;
	struct live_record *record; /* reference-counted */
};

/* Shared by a process and its children until one of them changes. */
struct live_mappings {
	unsigned refs;
	VEC(struct live_mapping) list; /* in the order of their times */
};

struct live_process {
	pid_t pid, parent;
	unsigned threads;
	struct live_mappings *mappings; /* NULL: none */
};

struct live_thread {
	pid_t tid, parent;
	struct live_process *process;
	struct live_name name; /* "": unknown */
	uint64_t ended;        /* the number of the round; 0: it runs */
};

struct live_ended {
	pid_t tid;
	uint64_t round;
};

struct waiting_record {
	uint64_t time;
	size_t at; /* in the bytes of those that wait */
};

struct live_tasks {
	struct attar_layout layout; /* of the records */
	struct map threads;         /* tid -> struct live_thread * */
	struct map processes;       /* pid -> struct live_process * */
	struct map symbols;         /* address -> struct live_record * */
	VEC(struct live_ended) ended;
	struct buf bytes; /* of the records that wait */
	VEC(struct waiting_record) waiting;
	uint64_t newest;   /* time of the records so far, ns */
	uint64_t horizon;  /* the same, without the current round */
	uint64_t round;    /* number of the current one */
	bool is_stale;     /* records were lost: the tasks have to be read again */
	size_t memory;     /* bytes: the records of mappings and symbols */
	size_t max_memory; /* 0: no limit */
	bool is_full;      /* a process has too many mappings, or all have, which was said */
	int failed;
};

void live_tasks_init(struct live_tasks *t, const struct attar_layout *layout);
void live_tasks_done(struct live_tasks *t);

/* Forgets all tasks, but not the symbols, nor the records that wait. */
void live_tasks_reset(struct live_tasks *t);

/* Whether a record concerns tasks or symbols. */
bool live_tasks_takes(const struct perf_event_header *header);

/* Takes a record of the current round; those that do not concern tasks are ignored. */
void live_tasks_note(struct live_tasks *t, const struct perf_event_header *header);

/* Applies records that describe the tasks at this moment, in their order. */
void live_tasks_apply(struct live_tasks *t, const void *bytes, size_t len);

/* Ends a round. 0, or -ENOMEM if a record was not taken since its start. */
int live_tasks_round(struct live_tasks *t);

/*
 * Appends records of all symbols, names and mappings, with zeros as their time and task, then those
 * that wait. Returns their number.
 */
size_t live_tasks_put(const struct live_tasks *t, struct buf *b);

#endif
