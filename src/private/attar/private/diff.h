/* SPDX-License-Identifier: MIT */
/*
 * attar/private/diff.h - the differences between two results of a profiler.
 *
 * A result is one report, or one for each interval. attar_report_read_json() reads reports that
 * were written as JSON.
 *
 *	struct attar_diff_opts opts = {.size = sizeof(opts), .confidence = 0.99, .fail_above = -1};
 *	struct attar_diff_side before = {&first, 1}, after = {&second, 1};
 *	struct attar_report *out = attar_report_new("diff");
 *	struct attar_diff_result result;
 *
 *	if (diff_reports(&before, &after, &opts, out, &result) == 0)
 *		printf("%llu changes are significant\n", (unsigned long long)result.significant);
 *
 * The confidence of a change is the probability that chance alone would have made a smaller one. It
 * comes from the spread over intervals (8 or more on each side), otherwise from the number of
 * events: a count varies by its square root, a share of n samples as n draws do. Chance has as many
 * opportunities as there are rows, which lowers it (Bonferroni). Other numbers of one interval have
 * none.
 */
#ifndef ATTAR_PRIVATE_DIFF_H
#define ATTAR_PRIVATE_DIFF_H

#include <stdio.h>

#include "attar/report.h"

/* The reports of one result, one for each interval; borrowed. */
struct attar_diff_side {
	const struct attar_report *const *reports;
	size_t n;
};

struct attar_diff_opts {
	size_t size;       /* sizeof(struct attar_diff_opts) */
	double confidence; /* 0..1: at least this makes a change significant */
	double fail_above; /* a share of the value before, of shares points / 100; < 0: no limit */
	bool want_trees;   /* add call trees with the weights after, each frame with its change */
};

struct attar_diff_result {
	uint64_t significant; /* changes */
	uint64_t beyond;      /* of these, those above fail_above */
};

/*
 * Adds the differences to the report: for each table and each of its columns a table of the values
 * before and after, for histograms one of quantiles, for call trees one of stacks. Returns 0;
 * -EINVAL if the reports are of different profilers, or the two results have no section in common;
 * -ENOMEM.
 */
int diff_reports(const struct attar_diff_side *before, const struct attar_diff_side *after,
	const struct attar_diff_opts *opts, struct attar_report *out,
	struct attar_diff_result *ret_result);

/*
 * Writes the stacks of all call trees with their weights on both sides, as folded stacks with two
 * numbers, which tools for differential flame graphs read. Returns 0, -ENOMEM, or the negative
 * errno of a failed write.
 */
int diff_folded_reports(
	const struct attar_diff_side *before, const struct attar_diff_side *after, FILE *out);

#endif
