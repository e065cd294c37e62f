/* SPDX-License-Identifier: MIT */
/*
 * attar/hist.h - histograms of durations, sizes and other u64 values.
 *
 * A histogram counts values in log-linear buckets: 64 of equal width for each power of two. Values
 * below 1,024 are exact; larger ones, and quantiles, have a relative error of at most 1/128
 * (0.8 %). Count, sum, minimum and maximum are exact.
 *
 *	struct attar_hist hist = {0};
 *
 *	attar_hist_add(&hist, duration);
 *	...
 *	printf("%llu values, p99 %llu ns\n", (unsigned long long)hist.count,
 *		(unsigned long long)attar_hist_quantile(&hist, 0.99));
 *	attar_hist_done(&hist);
 *
 * Memory: 48 bytes without values; 88 bytes, and 256 bytes for each power of two with values, or
 * for each 64 values below 1,024, are allocated as needed. Durations between 1 us and 1 ms take
 * 2.8 KiB, all possible values 18 KiB, and twice as much if a bucket has more than 2^32 - 1 values.
 * Adding a value allocates only if it is the first one of its range.
 */
#ifndef ATTAR_HIST_H
#define ATTAR_HIST_H

#include "attar/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attar_hist_buckets;

/* A histogram. Zeroed: empty. It can be moved in memory. */
struct attar_hist {
	uint64_t count;                     /* values */
	uint64_t min, max;                  /* of the values; undefined without values */
	uint64_t sum;                       /* modulo 2^64; attar_hist_sum() is without overflow */
	uint64_t sum_high;                  /* the sum divided by 2^64 */
	struct attar_hist_buckets *buckets; /* owned by the histogram */
};

/*
 * Adds a value, or a value n times. Called per event: does not check its arguments. Returns 0;
 * -ENOMEM, or -EOVERFLOW for more than 2^64 - 1 values: the histogram is unchanged.
 */
ATTAR_API int attar_hist_add(struct attar_hist *hist, uint64_t value);

/*
 * Adds all values of `from` to `to`. Returns 0; -ENOMEM, or -EOVERFLOW for more than 2^64 - 1
 * values: `to` is unchanged.
 */
ATTAR_API int attar_hist_merge(struct attar_hist *to, const struct attar_hist *from);

/* Removes all values and frees the memory. */
ATTAR_API void attar_hist_done(struct attar_hist *hist);

/* The sum of the values, at most UINT64_MAX; 0 without values. */
ATTAR_API uint64_t attar_hist_sum(const struct attar_hist *hist);

/* The mean of the values; 0 without values. */
ATTAR_API double attar_hist_mean(const struct attar_hist *hist);

/*
 * The smallest value that is not less than this share (0..1) of the values: the value of rank
 * ceil(share * count), with an error of at most 1/128. Share 0 is the minimum and 1 the maximum,
 * both exact. 0 without values.
 */
ATTAR_API uint64_t attar_hist_quantile(const struct attar_hist *hist, double share);

/* A bucket of a histogram, and an iterator. Zeroed: before the first bucket. */
struct attar_hist_bucket {
	uint64_t low, last; /* of values from low to last, both included */
	uint64_t count;
	uint32_t next; /* position of the iterator */
};

/*
 * Sets *bucket to the next bucket, by ascending value; returns false after the last one.
 * attar_hist_next() yields the buckets that have values.
 *
 *	struct attar_hist_bucket bucket = {0};
 *
 *	while (attar_hist_next(&hist, &bucket))
 *		draw(bucket.low, bucket.last, bucket.count);
 */
ATTAR_API bool attar_hist_next(const struct attar_hist *hist, struct attar_hist_bucket *bucket);

#ifdef __cplusplus
}
#endif

#endif
