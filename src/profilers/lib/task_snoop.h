/* SPDX-License-Identifier: MIT */
/*
 * Common parts of execsnoop and exitsnoop: cells of their lines, and the counts of lines in the
 * report.
 *
 *	task_counts_add(&s->counts, failed);
 *	...
 *	task_counts_report(&s->counts, report, scope, "execs");
 */
#ifndef PROFILERS_LIB_TASK_SNOOP_H
#define PROFILERS_LIB_TASK_SNOOP_H

#include "attar/run.h"

struct task_counts {
	uint64_t seen, failed; /* in the interval */
	uint64_t whole, whole_failed;
	bool misses_failed; /* they are not watched: their number is unknown */
};

void task_counts_add(struct task_counts *counts, bool failed);

/* Adds the table of the counts to a report, and begins the next interval. */
void task_counts_report(struct task_counts *counts, struct attar_report *report,
	enum attar_scope scope, const char *section);

uint64_t task_pid_of(const struct attar_event *ev);

/* 0: unknown. */
pid_t task_parent_of(const struct attar_event *ev);

struct attar_stamp task_stamp_of(const struct attar_event *ev);

/* Adds a cell, which is empty if the number is not positive. */
void task_add_number(struct attar_section *lines, int64_t number);

#endif
