/* SPDX-License-Identifier: MIT */
/* Tables by key: adding rows to each other, eviction and merging. */
#include "stats/keytable.h"

#include "base/check_arg.h"
#include "stats/bucket.h"

/* Negative sums are the smallest. */
static uint64_t weight(const struct attar_keytable *t, const struct attar_keyrow *row)
{
	size_t rank = t->opts.rank;
	bool is_signed = keytable_is_signed(t, rank), is_beyond;
	uint64_t sum;

	if (!t->opts.sums)
		return t->opts.hists ? row->whole.hists[0].count + row->interval.hists[0].count : 0;
	sum = keysum_of(row->whole.sums[rank], row->interval.sums[rank], is_signed, &is_beyond);
	return is_signed && (int64_t)sum < 0 ? 0 : sum;
}

/* What is evicted: all rows in buckets of the weight below `bucket`, and some of that bucket. */
struct quota {
	uint32_t bucket, some;
};

/* A histogram of the weights finds the smallest ones in two passes and without sorting. */
static struct quota quota_of(const struct attar_keytable *t)
{
	uint32_t counts[BUCKETS] = {0}, wanted = MAX(t->keyed.n / 4, 1U), bucket = 0;

	keyed_each (&t->keyed, struct attar_keyrow, row)
		counts[bucket_of(weight(t, row))]++;
	for (; counts[bucket] < wanted; bucket++)
		wanted -= counts[bucket];
	return (struct quota){bucket, wanted};
}

static bool takes(struct quota *q, uint32_t bucket)
{
	if (bucket != q->bucket)
		return bucket < q->bucket;
	if (!q->some)
		return false;
	q->some--;
	return true;
}

/* Moves what the row has to the others, part by part: none counts twice if memory runs out. */
static int evict_row(struct attar_keytable *t, struct attar_keyrow *row)
{
	for (size_t i = 0; i < 2 * t->opts.hists; i++) {
		struct attar_hist *hist = &row->interval.hists[i];
		int r = attar_hist_merge(&t->others->interval.hists[i], hist);

		if (r < 0)
			return r;
		attar_hist_done(hist);
	}
	keytable_add_sums(t, &t->others->interval, &row->interval);
	keytable_add_sums(t, &t->others->whole, &row->whole);
	if (t->opts.on_remove)
		t->opts.on_remove(t->opts.ctx, row);
	if (*keytable_hot(t, row->number) == row)
		*keytable_hot(t, row->number) = NULL;
	keyed_unlink(&t->keyed, row);
	keyed_release(&t->keyed, row);
	t->evicted++;
	return 0;
}

int keytable_evict(struct attar_keytable *t)
{
	struct quota quota = quota_of(t);

	keyed_each (&t->keyed, struct attar_keyrow, row) {
		if (takes(&quota, bucket_of(weight(t, row))) && evict_row(t, row) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int check_same(const struct attar_keytable *to, const struct attar_keytable *from)
{
	if (to->opts.sums != from->opts.sums || to->opts.hists != from->opts.hists ||
		to->opts.value_size != from->opts.value_size ||
		to->keyed.key_max < from->keyed.key_max)
		return attar_fail(-EINVAL,
			"tables can be merged only if their numbers of sums and histograms and "
			"sizes of blocks are equal, and keys of the first are not shorter");
	return 0;
}

static int add_sums(
	const struct attar_keytable *t, struct attar_keysums *to, const struct attar_keysums *from)
{
	for (size_t i = 0; i < t->opts.hists; i++) {
		int r = attar_hist_merge(&to->hists[i], &from->hists[i]);

		if (r < 0)
			return r;
	}
	keytable_add_sums(t, to, from);
	return 0;
}

static int add_row(const struct attar_keytable *t, struct attar_keyrow *to,
	const struct attar_keyrow *from, bool interval)
{
	int r = add_sums(t, &to->whole, &from->whole);

	return r < 0 || !interval ? r : add_sums(t, &to->interval, &from->interval);
}

int keytable_merge(struct attar_keytable *to, const struct attar_keytable *from)
{
	CHECK_ARG(to, "to");
	CHECK_ARG(from, "from");

	bool interval = !from->ended;
	int r = check_same(to, from);

	if (r < 0)
		return r;
	keytable_begin_interval(to);
	keyed_each (&from->keyed, struct attar_keyrow, row) {
		size_t keys = to->keyed.n;
		uint64_t evicted = to->evicted;
		struct attar_keyrow *mine = attar_keytable_at(to, row->key, row->key_size);

		if (!mine)
			return -ENOMEM;
		if (to->keyed.n != keys || to->evicted != evicted)
			memcpy(mine->value, row->value, to->opts.value_size);
		r = add_row(to, mine, row, interval);
		if (r < 0)
			return r;
	}
	to->evicted += from->evicted;
	return add_row(to, to->others, from->others, interval);
}
