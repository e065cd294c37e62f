/* SPDX-License-Identifier: MIT */
/*
 * The log-linear buckets of histograms: one for each value below 1,024, and 64 of equal width for
 * each power of two from there on.
 */
#ifndef STATS_BUCKET_H
#define STATS_BUCKET_H

#include <stdint.h>

enum {
	BUCKET_BITS = 6,
	BUCKETS_PER_PAGE = 1 << BUCKET_BITS,
	BUCKET_EXACT_BITS = 10,
	BUCKETS_EXACT = 1 << BUCKET_EXACT_BITS, /* values below it have a bucket each */
	BUCKET_PAGES_EXACT = BUCKETS_EXACT / BUCKETS_PER_PAGE,
	BUCKET_PAGES = BUCKET_PAGES_EXACT + 64 - BUCKET_EXACT_BITS, /* one for each power of two */
	BUCKETS = BUCKET_PAGES * BUCKETS_PER_PAGE,
};

/* The highest bit that is set in a value, without an instruction for it: BPF has none. */
static inline uint32_t bucket_power_by_steps(uint64_t value)
{
	uint32_t power = 0;

	for (uint32_t step = 32; step; step /= 2)
		if (value >> step) {
			value >>= step;
			power += step;
		}
	return power;
}

static inline uint32_t bucket_power(uint64_t value)
{
#ifdef __bpf__
	return bucket_power_by_steps(value);
#else
	return 63 - (uint32_t)__builtin_clzll(value);
#endif
}

/*
 * The number of the bucket of a value, ascending by value. From 1,024 on, the bits that are left of
 * the value are the bits of the place, and one that counts for a page.
 */
static inline uint32_t bucket_of(uint64_t value)
{
	uint32_t shift = bucket_power(value | BUCKETS_EXACT) - BUCKET_BITS;
	uint32_t page = BUCKET_PAGES_EXACT - 1 - (BUCKET_EXACT_BITS - BUCKET_BITS) + shift;
	uint32_t wide = page * BUCKETS_PER_PAGE + (uint32_t)(value >> shift);

	return value < BUCKETS_EXACT ? (uint32_t)value : wide;
}

/* The lowest and the highest value of a bucket. */
static inline uint64_t bucket_low(uint32_t bucket)
{
	uint32_t power = bucket / BUCKETS_PER_PAGE - BUCKET_PAGES_EXACT + BUCKET_EXACT_BITS;
	uint64_t place = bucket % BUCKETS_PER_PAGE;

	if (bucket < BUCKETS_EXACT)
		return bucket;
	return (BUCKETS_PER_PAGE + place) << (power - BUCKET_BITS);
}

static inline uint64_t bucket_last(uint32_t bucket)
{
	uint32_t power = bucket / BUCKETS_PER_PAGE - BUCKET_PAGES_EXACT + BUCKET_EXACT_BITS;

	if (bucket < BUCKETS_EXACT)
		return bucket;
	return bucket_low(bucket) + (UINT64_C(1) << (power - BUCKET_BITS)) - 1;
}

#endif
