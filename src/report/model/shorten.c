/* SPDX-License-Identifier: MIT */
#include "report/model/shorten.h"

#include "base/escape.h"
#include "base/vec.h"
#include "report/model/width.h"

/* The hashes of a shortened text and of the text itself. */
struct pair {
	uint64_t cut, whole;
};

typedef VEC(struct pair) pairs;

void shorten_add(struct buf *b, const struct shorten *how, const char *text, unsigned columns)
{
	unsigned width = width_of(text), head = columns / 3;

	if (width <= columns || !columns)
		width_cut(b, text, columns);
	else if (*text == '/' || how->how == SHORTEN_START)
		width_cut_start(b, text, columns);
	else if (how->how == SHORTEN_PREFIX)
		width_cut_prefix(b, text, MIN(how->prefix, width - columns + 1), columns);
	else if (how->how == SHORTEN_MIDDLE && head)
		width_cut_middle(b, text, head, columns);
	else
		width_cut(b, text, columns);
}

static uint64_t hash_of(const char *text)
{
	return base_hash64(base_hash_bytes(BASE_HASH_START, text, strlen(text)));
}

static int by_cut(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->cut != y->cut)
		return x->cut < y->cut ? -1 : 1;
	return (x->whole > y->whole) - (x->whole < y->whole);
}

/* The number of different texts that are equal when shortened. */
static size_t count_equal(
	const struct shorten *how, shorten_text_fn *text, void *ctx, size_t n, unsigned columns)
{
	struct buf cut _cleanup_(buf_done) = {0};
	pairs all = {0};
	size_t equal = 0;

	for (size_t i = 0; i < n; i++) {
		const char *whole = text(ctx, i);
		struct pair pair = {.whole = hash_of(whole)};

		buf_reset(&cut);
		shorten_add(&cut, how, whole, columns);
		pair.cut = hash_of(buf_text(&cut));
		if (vec_push(&all, pair) < 0)
			break; /* out of memory: any way is good enough */
	}
	if (all.n)
		qsort(all.at, all.n, sizeof(*all.at), by_cut);
	for (size_t i = 1; i < all.n; i++)
		equal += all.at[i].cut == all.at[i - 1].cut &&
			 all.at[i].whole != all.at[i - 1].whole;
	vec_done(&all);
	return equal;
}

/* The bytes that all texts wider than `columns` start with; ASCII only, so each is one column. */
static size_t common_prefix(shorten_text_fn *text, void *ctx, size_t n, unsigned columns)
{
	struct buf first _cleanup_(buf_done) = {0};
	size_t common = 0;

	for (size_t i = 0; i < n; i++) {
		const char *it = text(ctx, i);
		size_t same = 0;

		if (width_of(it) <= columns)
			continue;
		if (!first.len) {
			buf_str(&first, it);
			common = escape_plain(it, strlen(it));
		}
		while (same < common && same < first.len && it[same] == first.data[same])
			same++;
		common = MIN(common, same);
	}
	return common;
}

struct shorten shorten_choose(shorten_text_fn *text, void *ctx, size_t n, unsigned columns)
{
	struct shorten best = {.how = SHORTEN_END}, it;
	size_t least = count_equal(&best, text, ctx, n, columns), equal;

	if (!least)
		return best;
	it.prefix = common_prefix(text, ctx, n, columns);
	for (it.how = SHORTEN_PREFIX; least && it.how <= SHORTEN_MIDDLE; it.how++) {
		equal = count_equal(&it, text, ctx, n, columns);
		if (equal < least) {
			best = it;
			least = equal;
		}
	}
	return best;
}
