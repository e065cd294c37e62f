/* SPDX-License-Identifier: MIT */
/* Adding to a histogram. */
#include "stats/hist.h"

#include "attar/private/hist.h"
#include "base/check_arg.h"

/* Pages that are allocated at once: neighbouring powers of two usually follow. */
enum { PAGES_FIRST = 1, PAGES_MORE = 2 };

static int hist_grow(struct attar_hist *hist)
{
	struct attar_hist_buckets *b = hist->buckets;
	size_t size = b ? b->size + PAGES_MORE : PAGES_FIRST;

	size = MIN(size, (size_t)BUCKET_PAGES);
	b = realloc(b, sizeof(*b) + size * sizeof(b->counts[0]));
	if (!b)
		return base_oom();
	if (!hist->buckets)
		memset(b, 0, sizeof(*b));
	b->size = (uint8_t)size;
	hist->buckets = b;
	return 0;
}

static int add_page(struct attar_hist *hist, uint32_t page)
{
	struct attar_hist_buckets *b = hist->buckets;

	if (!b || b->n == b->size) {
		if (hist_grow(hist) < 0)
			return -ENOMEM;
		b = hist->buckets;
	}
	memset(b->counts[b->n], 0, sizeof(b->counts[0]));
	b->page_at[page] = ++b->n;
	return 0;
}

static int add_high(struct attar_hist *hist)
{
	hist->buckets->high = calloc(BUCKETS, sizeof(*hist->buckets->high));
	return hist->buckets->high ? 0 : base_oom();
}

/* Makes sure that n values can be added to the bucket without an allocation. */
static int reserve(struct attar_hist *hist, uint32_t bucket, uint64_t n)
{
	uint32_t page = bucket / BUCKETS_PER_PAGE;
	struct attar_hist_buckets *b = hist->buckets;

	if ((!b || !b->page_at[page]) && add_page(hist, page) < 0)
		return -ENOMEM;
	if (!hist->buckets->high && hist_count(hist, bucket) + n > UINT32_MAX)
		return add_high(hist);
	return 0;
}

/* Adds to a bucket that has been reserved. */
static void count(struct attar_hist *hist, uint32_t bucket, uint64_t n)
{
	struct attar_hist_buckets *b = hist->buckets;
	uint64_t total = hist_count(hist, bucket) + n;

	b->counts[b->page_at[bucket / BUCKETS_PER_PAGE] - 1][bucket % BUCKETS_PER_PAGE] =
		(uint32_t)total;
	if (b->high)
		b->high[bucket] = (uint32_t)(total >> 32);
}

static void widen(struct attar_hist *hist, uint64_t min, uint64_t max)
{
	if (!hist->count || min < hist->min)
		hist->min = min;
	if (!hist->count || max > hist->max)
		hist->max = max;
}

static void add_sum(struct attar_hist *hist, uint64_t low, uint64_t high)
{
	hist->sum_high += high + __builtin_add_overflow(hist->sum, low, &hist->sum);
}

static int too_many(void)
{
	return attar_fail(-EOVERFLOW, "a histogram cannot count more than 2^64 - 1 values");
}

int hist_add_n(struct attar_hist *hist, uint64_t value, uint64_t n)
{
	unsigned __int128 sum = (unsigned __int128)value * n;
	uint32_t bucket = bucket_of(value);
	uint64_t unused;
	int r;

	if (!n)
		return 0;
	if (__builtin_add_overflow(hist->count, n, &unused))
		return too_many();
	r = reserve(hist, bucket, n);
	if (r < 0)
		return r;
	count(hist, bucket, n);
	widen(hist, value, value);
	add_sum(hist, (uint64_t)sum, (uint64_t)(sum >> 64));
	hist->count += n;
	return 0;
}

int attar_hist_add(struct attar_hist *hist, uint64_t value)
{
	struct attar_hist_buckets *b = hist->buckets;
	uint32_t bucket = bucket_of(value), *low;
	size_t at;

	if (unlikely(!b))
		return hist_add_n(hist, value, 1);
	at = b->page_at[bucket / BUCKETS_PER_PAGE];
	if (unlikely(!at || hist->count + 1 <= 1)) /* none yet, or no more */
		return hist_add_n(hist, value, 1);
	low = &b->counts[at - 1][bucket % BUCKETS_PER_PAGE];
	if (unlikely(*low == UINT32_MAX))
		return hist_add_n(hist, value, 1);
	++*low;
	hist->count++;
	hist->sum += value;
	/* these are rare: a branch is faster than a store */
	if (unlikely(hist->sum < value))
		hist->sum_high++;
	if (unlikely(value < hist->min))
		hist->min = value;
	if (unlikely(value > hist->max))
		hist->max = value;
	return 0;
}

int attar_hist_merge(struct attar_hist *to, const struct attar_hist *from)
{
	CHECK_ARG(to, "to");
	CHECK_ARG(from, "from");

	struct attar_hist_bucket bucket = {0};
	uint64_t unused;

	if (!from->count)
		return 0;
	if (__builtin_add_overflow(to->count, from->count, &unused))
		return too_many();
	while (attar_hist_next(from, &bucket))
		if (reserve(to, bucket.next - 1, bucket.count) < 0)
			return -ENOMEM;
	bucket = (struct attar_hist_bucket){0};
	while (attar_hist_next(from, &bucket))
		count(to, bucket.next - 1, bucket.count);
	widen(to, from->min, from->max);
	add_sum(to, from->sum, from->sum_high);
	to->count += from->count;
	return 0;
}

void hist_reset(struct attar_hist *hist)
{
	CHECK_ARG_OR(hist, "hist", );

	struct attar_hist_buckets *b = hist->buckets;

	if (b && hist->count) {
		memset(b->counts, 0, b->n * sizeof(b->counts[0]));
		if (b->high)
			memset(b->high, 0, BUCKETS * sizeof(*b->high));
	}
	*hist = (struct attar_hist){.buckets = b};
}

void attar_hist_done(struct attar_hist *hist)
{
	CHECK_ARG_OR(hist, "hist", );

	if (hist->buckets)
		free(hist->buckets->high);
	free(hist->buckets);
	*hist = (struct attar_hist){0};
}
