/* SPDX-License-Identifier: MIT */
/*
 * What attar/hist.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_HIST_H
#define ATTAR_PRIVATE_HIST_H

#include "attar/hist.h"

/* Adds n equal values. */
int hist_add_n(struct attar_hist *hist, uint64_t value, uint64_t n);

/* Removes all values; keeps the memory for further ones. */
void hist_reset(struct attar_hist *hist);

/* The quantiles of n shares, which must be in ascending order, in one pass. */
void hist_quantiles(
	const struct attar_hist *hist, const double *shares, size_t n, uint64_t *ret_values);

/*
 * Like attar_hist_next(), with coarser buckets: 0, 1, 2..3, 4..7, and so on, also empty ones, from
 * the bucket of the minimum to the bucket of the maximum.
 */
bool hist_next_power(const struct attar_hist *hist, struct attar_hist_bucket *bucket);

/* The memory that the histogram has allocated, in bytes. */
size_t hist_memory(const struct attar_hist *hist);

#endif
