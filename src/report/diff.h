/* SPDX-License-Identifier: MIT */
/*
 * The differences between two results of a profiler, as a report: for each table and each of its
 * columns a table of the values before and after, for histograms one of quantiles, for call trees
 * one of stacks.
 *
 * The confidence of a change is the probability that chance alone would have made a smaller one. It
 * comes from the spread over intervals (DIFF_INTERVALS or more on each side), otherwise from the
 * number of events: a count varies by its square root, a share of n samples as n draws do. Chance
 * has as many opportunities as there are rows, which lowers it (Bonferroni). Other numbers of one
 * interval have none.
 */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include "attar/report.h"
#include "base/buf.h"
#include "base/vec.h"

enum { DIFF_INTERVALS = 8 };

/* The reports of one result, one for each interval. */
struct diff_side {
	VEC(struct attar_report *) reports;
};

struct diff_opts {
	double confidence; /* 0..1: at least this makes a change significant */
	double fail_above; /* a share of the value before, of shares points / 100; < 0: no limit */
	bool want_trees;   /* add call trees with the weights after, see attar_section.changes */
};

struct diff_result {
	uint64_t significant; /* changes */
	uint64_t beyond;      /* of these, those above fail_above */
};

/*
 * Adds the differences to a report. Returns 0, -EINVAL if the two have nothing in common, or
 * -ENOMEM.
 */
int diff_reports(const struct diff_side sides[2], const struct diff_opts *opts,
	struct attar_report *out, struct diff_result *ret_result);

/*
 * Appends the stacks of all call trees with their weights on both sides, as folded stacks with two
 * numbers, which tools for differential flame graphs read. Returns 0 or -ENOMEM.
 */
int diff_folded(const struct diff_side sides[2], struct buf *out);

#endif
