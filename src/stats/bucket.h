/* SPDX-License-Identifier: MIT */
/*
 * The log-linear buckets of histograms: 64 of equal width for each power of two from 64 on, and one
 * for each value below.
 */
#ifndef STATS_BUCKET_H
#define STATS_BUCKET_H

#include <stdint.h>

enum {
	BUCKET_BITS = 6,
	BUCKETS_PER_PAGE = 1 << BUCKET_BITS, /* a page is a power of two; page 0: values below 64 */
	BUCKET_PAGES = 64 - BUCKET_BITS + 1,
	BUCKETS = BUCKET_PAGES * BUCKETS_PER_PAGE,
};

/*
 * The number of the bucket of a value, ascending by value. From 64 on, the bits that are left of
 * the value are those of the place, and one that counts for a page.
 */
static inline uint32_t bucket_of(uint64_t value)
{
	uint32_t shift = 63 - BUCKET_BITS - (uint32_t)__builtin_clzll(value | BUCKETS_PER_PAGE);

	return shift * BUCKETS_PER_PAGE + (uint32_t)(value >> shift);
}

/* The lowest and the highest value of a bucket. */
static inline uint64_t bucket_low(uint32_t bucket)
{
	uint32_t page = bucket / BUCKETS_PER_PAGE;
	uint64_t place = bucket % BUCKETS_PER_PAGE;

	return page ? (BUCKETS_PER_PAGE + place) << (page - 1) : place;
}

static inline uint64_t bucket_last(uint32_t bucket)
{
	uint32_t page = bucket / BUCKETS_PER_PAGE;

	return bucket_low(bucket) + (page ? (UINT64_C(1) << (page - 1)) - 1 : 0);
}

#endif
