/* SPDX-License-Identifier: MIT */
/* Quantiles and buckets of a histogram. */
#include <math.h>

#include "attar/private/hist.h"
#include "base/check_arg.h"
#include "stats/hist.h"

uint64_t attar_hist_sum(const struct attar_hist *hist)
{
	CHECK_ARG_OR(hist, "hist", 0);

	return hist->sum_high ? UINT64_MAX : hist->sum;
}

double attar_hist_mean(const struct attar_hist *hist)
{
	CHECK_ARG_OR(hist, "hist", 0);

	if (!hist->count)
		return 0;
	return ((double)hist->sum_high * 0x1p64 + (double)hist->sum) / (double)hist->count;
}

size_t hist_memory(const struct attar_hist *hist)
{
	CHECK_ARG_OR(hist, "hist", 0);

	const struct attar_hist_buckets *b = hist->buckets;

	if (!b)
		return 0;
	return sizeof(*b) + b->size * sizeof(b->counts[0]) +
	       (b->high ? BUCKETS * sizeof(*b->high) : 0);
}

bool attar_hist_next(const struct attar_hist *hist, struct attar_hist_bucket *bucket)
{
	CHECK_ARG_OR(hist, "hist", false);
	CHECK_ARG_OR(bucket, "bucket", false);

	const struct attar_hist_buckets *b = hist->buckets;

	for (uint32_t i = bucket->next; b && i < BUCKETS; i++) {
		uint64_t n;

		if (!b->page_at[i / BUCKETS_PER_PAGE]) {
			i |= BUCKETS_PER_PAGE - 1;
			continue;
		}
		n = hist_count(hist, i);
		if (!n)
			continue;
		*bucket = (struct attar_hist_bucket){bucket_low(i), bucket_last(i), n, i + 1};
		return true;
	}
	return false;
}

/* The power of a value: 0 for 0, otherwise the number of its bits. */
static uint32_t power_of(uint64_t value)
{
	return value ? 64 - (uint32_t)__builtin_clzll(value) : 0;
}

static uint64_t count_between(const struct attar_hist *hist, uint64_t low, uint64_t last)
{
	uint64_t n = 0;

	for (uint32_t i = bucket_of(low); i <= bucket_of(last); i++)
		n += hist_count(hist, i);
	return n;
}

bool hist_next_power(const struct attar_hist *hist, struct attar_hist_bucket *bucket)
{
	CHECK_ARG_OR(hist, "hist", false);
	CHECK_ARG_OR(bucket, "bucket", false);

	if (!hist->count)
		return false;

	uint32_t power = MAX(bucket->next, power_of(hist->min));
	uint64_t low, last;

	if (power > power_of(hist->max))
		return false;
	low = power ? UINT64_C(1) << (power - 1) : 0;
	last = power ? low + (low - 1) : 0;
	*bucket = (struct attar_hist_bucket){low, last, count_between(hist, low, last), power + 1};
	return true;
}

/* The rank of a share: products such as 0.07 * 100 can be slightly too large. */
static uint64_t rank_of(const struct attar_hist *hist, double share)
{
	double rank = (double)hist->count * share;

	rank = ceil(rank - rank * 1e-15);
	if (!(rank > 1))
		return 1;
	return rank >= (double)hist->count ? hist->count : (uint64_t)rank;
}

static uint64_t value_in(const struct attar_hist *hist, const struct attar_hist_bucket *bucket)
{
	uint64_t middle = bucket->low + (bucket->last - bucket->low) / 2;

	middle = MAX(middle, hist->min);
	return MIN(middle, hist->max);
}

/* The value of a rank; *bucket and *seen advance to its bucket and the values up to its end. */
static uint64_t value_of_rank(const struct attar_hist *hist, uint64_t rank,
	struct attar_hist_bucket *bucket, uint64_t *seen)
{
	while (*seen < rank && attar_hist_next(hist, bucket))
		*seen += bucket->count;
	if (rank <= 1)
		return hist->min;
	return rank == hist->count ? hist->max : value_in(hist, bucket);
}

void hist_quantiles(
	const struct attar_hist *hist, const double *shares, size_t n, uint64_t *ret_values)
{
	CHECK_ARG_OR(hist, "hist", );
	CHECK_ARG_OR(shares || !n, "shares", );
	CHECK_ARG_OR(ret_values || !n, "ret_values", );

	struct attar_hist_bucket bucket = {0};
	uint64_t seen = 0;

	for (size_t i = 0; i < n; i++)
		ret_values[i] =
			hist->count ? value_of_rank(hist, rank_of(hist, shares[i]), &bucket, &seen)
				    : 0;
}

uint64_t attar_hist_quantile(const struct attar_hist *hist, double share)
{
	CHECK_ARG_OR(hist, "hist", 0);

	uint64_t value = 0;

	hist_quantiles(hist, &share, 1, &value);
	return value;
}
