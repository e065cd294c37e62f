/* SPDX-License-Identifier: MIT */
/*
 * Sums by what --by says, for profilers whose own rows are something else, such as functions: a
 * table "tasks", and what tasks are in above them in the tree.
 */
#ifndef PROFILERS_LIB_TASK_SUMS_H
#define PROFILERS_LIB_TASK_SUMS_H

#include "lib/task_by.h"

enum { TASK_SUMS_MAX = 8 };

struct task_sums {
	enum task_by by;
	struct attar_keytable *table; /* NULL: --by was not given */
	size_t n;                     /* sums of a row */
};

/* A column; the first sum is also the one of which rows have a share. */
struct task_sum_column {
	const char *name; /* NULL: it is not shown */
	enum attar_unit unit;
};

/* by_text: --by, NULL: nothing is added. stacks may be NULL. 0 or a negative errno. From open(). */
int task_sums_open(struct attar_run *run, const char *by_text, struct attar_stacks *stacks,
	size_t n, struct task_sums *ret_sums);

/* Adds n numbers for a thread. 0 or -ENOMEM. Called per event. */
int task_sums_add(const struct attar_run *run, struct task_sums *sums,
	const struct attar_thread *thread, const uint64_t *numbers);

/* Adds the table. 0 or -ENOMEM. */
int task_sums_report(const struct attar_run *run, const struct task_sums *sums,
	struct attar_report *report, enum attar_scope scope, const struct task_sum_column *columns);

void task_sums_close(struct task_sums *sums);

#endif
