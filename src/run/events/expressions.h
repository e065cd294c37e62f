/* SPDX-License-Identifier: MIT */
/* Expressions in a run: their functions have its symbols, threads and output. */
#ifndef RUN_SOURCE_EXPRESSIONS_H
#define RUN_SOURCE_EXPRESSIONS_H

#include "attar/run.h"

struct filter;
struct filter_choice;

/* Adds the options of expressions of this run, which must outlive them. */
void run_expr_opts(struct attar_run *run, struct attar_expr_opts *opts);

/*
 * Whether the expressions of all attributes of an event are valid for its fields, also those that
 * the profiler does not use. The fields of an event that no program has registered are unknown: 0.
 */
int run_check_attributes(struct attar_run *run, const struct attar_event_spec *spec);

/*
 * Decides how the filter of an event of the kernel, or of a recording, runs: see filter_choose().
 * Without a filter or format, the choice stays as it is. An error message shows the place in the
 * event string.
 */
int run_choose_filter(
	struct attar_run *run, const struct attar_event_spec *spec, struct filter_choice *choice);

/* Sets the filter of a counted event, which only the kernel can apply. */
int run_count_filter(
	struct attar_run *run, struct attar_counter *counter, const struct attar_event_spec *spec);

#endif
