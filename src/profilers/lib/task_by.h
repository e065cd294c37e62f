/* SPDX-License-Identifier: MIT */
/*
 * The option --by: whose rows a profiler of tasks shows. Events only look at numbers of the thread;
 * names are made for reports.
 */
#ifndef PROFILERS_LIB_TASK_BY_H
#define PROFILERS_LIB_TASK_BY_H

#include "attar/run.h"

enum task_by {
	BY_THREAD,
	BY_PROCESS,
	BY_USER,
	BY_CGROUP,
	BY_UNIT,
	BY_CONTAINER,
	BY_POD,
	BY_KINDS,
};

enum { TASK_NAME_BYTES = 24 };

#define TASK_BY_HELP "thread, process, user, cgroup, unit, container or pod"

/* Part of the key of a row. Padded with zeros. */
struct task_key_of {
	int64_t id; /* see task_by_number(); -1: the name says what it is, such as "[idle]" */
	char name[TASK_NAME_BYTES]; /* of threads and processes at the time of the event */
};

/* Parses the value of --by; NULL: *ret_by is unchanged. 0 or -EINVAL. Only from open(). */
int task_by_parse(struct attar_run *run, const char *text, enum task_by *ret_by);

/* Before the first stack: the tree of the stacks has what tasks are in above them. */
void task_by_stacks(struct attar_run *run, enum task_by by, struct attar_stacks *stacks);

/*
 * The tid, or the number of the process or of what else a thread is in, which may be NULL: 0.
 * Called per event.
 */
uint64_t task_by_number(
	const struct attar_run *run, enum task_by by, const struct attar_thread *thread);

/*
 * The tid of a thread, and a number that later threads with the same tid do not have: see
 * task_by_id(). thread NULL: 0.
 */
uint64_t task_by_life(const struct attar_thread *thread);

/* The key of a thread, with the name that the event has for it. Called per event. */
struct task_key_of task_by_key(
	const struct attar_run *run, enum task_by by, pid_t tid, const char name[TASK_NAME_BYTES]);

/* The key of what is not a task. */
struct task_key_of task_by_other(const char *name);

/* Columns, whose names begin with prefix: for threads and processes an ID and comm. */
void task_by_columns(enum task_by by, struct attar_section *table, const char *prefix);

/* Their cells. key NULL: all other rows. */
void task_by_cells(const struct attar_run *run, enum task_by by, struct attar_section *table,
	const struct task_key_of *key);

/* The tid or pid of a number. */
static inline int32_t task_by_id(int64_t number)
{
	return (int32_t)number;
}

/* Whether rows have an ID and a name, as threads and processes; otherwise only a name. */
static inline bool task_by_has_id(enum task_by by)
{
	return by <= BY_PROCESS;
}

#endif
