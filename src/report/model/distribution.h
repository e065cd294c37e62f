/* SPDX-License-Identifier: MIT */
/*
 * The buckets of several histograms as one distribution, for its quantiles.
 *
 *	struct distribution d _cleanup_(distribution_done) = {0};
 *	distribution_add(&d, section);
 *	distribution_join(&d);
 *	p99 = distribution_quantile(&d, 0.99);
 */
#ifndef REPORT_MODEL_DISTRIBUTION_H
#define REPORT_MODEL_DISTRIBUTION_H

#include "base/vec.h"
#include "report/model/model.h"

struct bucket {
	double low, high;
	uint64_t count;
};

struct distribution {
	VEC(struct bucket) buckets; /* by their lower end after distribution_join() */
	double count;
};

/* Adds the buckets of a histogram; those without values or with a wrong range are skipped. */
int distribution_add(struct distribution *d, const struct attar_section *histogram);

/* Sorts all buckets; equal ones become one, with the (saturating) sum of their counts. */
void distribution_join(struct distribution *d);

/* The value of a share (0..1) of all values, interpolated in its bucket; NaN if there are none. */
double distribution_quantile(const struct distribution *d, double share);

void distribution_done(struct distribution *d);

#endif
