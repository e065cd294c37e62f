/* SPDX-License-Identifier: MIT */
/*
 * attar/sections.h - what aggregates add to a report: weighted stacks, histograms, remarks.
 *
 * Samples are added to a struct attar_stacks with the stack of each; a report then has a table of
 * functions and a call tree. Symbols are resolved when a report is filled, not when samples are
 * added.
 *
 *	struct attar_stacks *stacks;
 *	attar_stacks_new(symbols, &stacks);
 *	...
 *	n = attar_event_stack(ev, locations, MAX);
 *	attar_stacks_add(stacks, ev->thread, locations, n, 1);
 *	...
 *	attar_stacks_report(stacks, report, ATTAR_SCOPE_WHOLE, NULL, &unresolved);
 *	attar_stacks_free(stacks);
 *
 * Memory is bounded; samples beyond a bound are still counted, and the report says how many.
 */
#ifndef ATTAR_SECTIONS_H
#define ATTAR_SECTIONS_H

#include "attar/perf.h"
#include "attar/report.h"
#include "attar/stats.h"
#include "attar/stream.h"
#include "attar/symbol.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- stacks ---- */

/* Weights by task and stack, since the previous report and since the start. */
struct attar_stacks;

/*
 * Creates an empty aggregate. symbols resolves the locations; borrowed until attar_stacks_free().
 * Returns 0 or -ENOMEM.
 */
ATTAR_API int attar_stacks_new(struct attar_symbols *symbols, struct attar_stacks **ret_stacks);

/* Frees the aggregate. Returns NULL, to assign to the caller's variable. Accepts NULL. */
ATTAR_API struct attar_stacks *attar_stacks_free(struct attar_stacks *stacks);

/*
 * Adds a weight (1: one sample) to a stack of n locations, innermost first, of a thread. n may be
 * 0: no stack. Called per event: does not check its arguments. Returns 0 or -ENOMEM.
 */
ATTAR_API int attar_stacks_add(struct attar_stacks *stacks, const struct attar_thread *thread,
	const attar_location *locations, size_t n, uint64_t weight);

/*
 * The same, for a time line: *ret_stack identifies the thread and stack, for attar_span.stack. It
 * is not 0. Checks its arguments. Returns 0 or -ENOMEM.
 */
ATTAR_API int attar_stacks_add_span(struct attar_stacks *stacks, const struct attar_thread *thread,
	const attar_location *locations, size_t n, uint64_t weight, uint64_t *ret_stack);

/* What attar_stacks_report() adds. */
struct attar_stacks_opts {
	size_t size;          /* sizeof(struct attar_stacks_opts) */
	const char *weight;   /* what is counted, a column of the table; NULL: "samples" */
	bool tree;            /* also add the call tree */
	bool no_table;        /* not the table */
	enum attar_unit unit; /* of the weights; ATTAR_UNIT_TEXT (0): ATTAR_UNIT_COUNT */
	bool for_trees; /* table and tree are only for outputs that are made for trees */
	double cpu_ns;  /* of the tree, that a weight of 1 stands for; 0: unknown */
	const char *cpu_label; /* only of weights below frames with this name; NULL: of all */
};

/*
 * Adds to the report: the table "functions" (self, total, weight, comm, dso, symbol; by self, then
 * total); the tree "stacks" if opts.tree is set, one root per task, outermost frame first; and
 * remarks about samples of idle CPUs, which are in neither, and about full tables. An address
 * without a symbol that has at least 0.5% of the weight has a separate row; other addresses
 * without a symbol are the "[unknown]" of their file. opts may be NULL. *ret_unresolved is the
 * share of the weight (0..1) whose innermost frame has no name.
 *
 * ATTAR_SCOPE_INTERVAL covers what was added since the previous call, ATTAR_SCOPE_WHOLE everything.
 * Each call begins a new interval. Returns 0 or -ENOMEM.
 */
ATTAR_API int attar_stacks_report(struct attar_stacks *stacks, struct attar_report *report,
	enum attar_scope scope, const struct attar_stacks_opts *opts, double *ret_unresolved);

/*
 * Adds a detail line under the newest row of the section for each of n locations, innermost first:
 * "address symbol+offset (dso)". Callers are located in the call, as in attar_event_stack(); the
 * address and offset shown belong to the return address. A section has 262,144 lines of stacks at
 * most: further rows have none, and the report has a remark.
 */
ATTAR_API void attar_row_stack(struct attar_section *section, struct attar_symbols *symbols,
	const attar_location *locations, size_t n);

/* ---- repeated measurements ---- */

/* A value that is measured repeatedly (Welford's method). Zeroed: no measurements. */
struct attar_series {
	uint64_t n;     /* measurements */
	double mean;    /* 0 without measurements */
	double squares; /* sum of the squared distances from the mean */
};

/* Adds a measurement. */
ATTAR_API void attar_series_add(struct attar_series *series, double value);

/*
 * The standard deviation of one measurement in percent of the mean; 0 with fewer than two
 * measurements.
 */
ATTAR_API double attar_series_deviation(const struct attar_series *series);

/* The count of an event in several runs of a command. */
struct attar_count {
	struct attar_value sum; /* of all runs */
	bool is_unknown;        /* counted together with other threads: included in another count */
	struct attar_series runs; /* of the value in each run; none for an interval */
};

/* ---- reports of histograms, tables and pairs ---- */

/*
 * Adds to a table the columns of attar_cell_hist(): count, total, min, p50, p95, p99, max. unit is
 * the unit of the values, such as ATTAR_UNIT_NS.
 */
ATTAR_API void attar_section_hist_columns(struct attar_section *section, enum attar_unit unit);

/*
 * Adds the cells of a histogram to the newest row. Without values, count and total are 0 and the
 * others are none.
 */
ATTAR_API void attar_cell_hist(struct attar_section *section, const struct attar_hist *hist);

/*
 * Adds a histogram section with a bucket for each power of two, the quantiles p50, p95, p99 and
 * p99.9, and the exact count, sum, minimum and maximum. Returns the section.
 */
ATTAR_API struct attar_section *attar_report_hist(struct attar_report *report, const char *name,
	enum attar_unit unit, const struct attar_hist *hist);

/*
 * Adds remarks about starts and ends that are not part of a pair, with their reasons; nothing if
 * there are none. name is the name of the pairs, such as "system calls".
 */
ATTAR_API void attar_report_unpaired(
	struct attar_report *report, const struct attar_pairs_stats *stats, const char *name);

/*
 * Adds a remark if keys were evicted from the table. name is their name, such as "threads".
 */
ATTAR_API void attar_report_evicted(
	struct attar_report *report, const struct attar_keytable *table, const char *name);

/*
 * Adds remarks about segments that were dropped because events were lost or not delivered, if there
 * are any. name is the name of the segments, such as "segments of time".
 */
ATTAR_API void attar_report_dropped(
	struct attar_report *report, const struct attar_states *states, const char *name);

#ifdef __cplusplus
}
#endif

#endif
