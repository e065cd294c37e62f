/* SPDX-License-Identifier: MIT */
/* Tables by key: rows and intervals. */
#include "stats/keytable.h"

#include "attar/private/hist.h"
#include "base/check_arg.h"
#include "base/option_struct.h"

enum { KEYS_DEFAULT = 1 << 16, KEYS_MIN = 8, KEYS_LIMIT = 1 << 24, COLUMNS_MAX = 64 };
enum { VALUE_MAX = 1 << 16 };

/* Of the sums of a scope, and the word after them, see keysums_is_beyond(). */
static size_t words(const struct attar_keytable_opts *o)
{
	return o->sums ? o->sums + 1 : 0;
}

static size_t row_size(const struct attar_keytable_opts *o)
{
	return sizeof(struct attar_keyrow) +
	       2 * (words(o) * sizeof(uint64_t) + o->hists * sizeof(struct attar_hist)) +
	       o->value_size;
}

/* Sets the pointers of a zeroed row. */
static void row_init(const struct attar_keytable_opts *o, struct attar_keyrow *row)
{
	struct attar_hist *hists = (struct attar_hist *)(row + 1);
	uint64_t *sums = (uint64_t *)(hists + 2 * o->hists);

	row->interval = (struct attar_keysums){sums, hists};
	row->whole = (struct attar_keysums){sums + words(o), hists + o->hists};
	row->value = sums + 2 * words(o);
}

static int check_opts(const struct attar_keytable_opts *o)
{
	CHECK_BELOW(o->sums, "opts.sums", COLUMNS_MAX + 1);
	CHECK_BELOW(o->hists, "opts.hists", COLUMNS_MAX + 1);
	CHECK_BELOW(o->value_size, "opts.value_size", VALUE_MAX + 1);
	CHECK_BELOW(o->key_max, "opts.key_max", ATTAR_KEY_MAX + 1);
	CHECK_BELOW(o->keys_max, "opts.keys_max", KEYS_LIMIT + 1);
	if (o->keys_max < KEYS_MIN)
		return attar_fail(-EINVAL, "opts.keys_max is %zu, at least %d is required",
			o->keys_max, KEYS_MIN);
	CHECK_BELOW(o->rank, "opts.rank", MAX(o->sums, (size_t)1));
	return 0;
}

int attar_keytable_new(const struct attar_keytable_opts *opts, struct attar_keytable **ret_table)
{
	CHECK_ARG(ret_table, "ret_table");

	struct attar_keytable_opts o = {0};
	struct attar_keytable *t;
	int r = option_struct_take(&o, sizeof(o), opts);

	if (r < 0)
		return r;
	o.keys_max = o.keys_max ? o.keys_max : KEYS_DEFAULT;
	r = check_opts(&o);
	if (r < 0)
		return r;
	t = calloc(1, sizeof(*t));
	if (!t)
		return base_oom();
	t->opts = o;
	keyed_init(&t->keyed, row_size(&o), o.key_max, o.keys_max);
	t->others = calloc(1, ROUND_UP(row_size(&o), 8));
	if (!t->others) {
		attar_keytable_free(t);
		return base_oom();
	}
	row_init(&o, t->others);
	*ret_table = t;
	return 0;
}

static void remove_row(struct attar_keytable *t, struct attar_keyrow *row)
{
	if (t->opts.on_remove)
		t->opts.on_remove(t->opts.ctx, row);
	for (size_t i = 0; i < 2 * t->opts.hists; i++)
		attar_hist_done(&row->interval.hists[i]);
}

static void remove_all(struct attar_keytable *t)
{
	keyed_each (&t->keyed, struct attar_keyrow, row)
		remove_row(t, row);
	if (t->others)
		remove_row(t, t->others);
}

struct attar_keytable *attar_keytable_free(struct attar_keytable *table)
{
	if (!table)
		return NULL;
	remove_all(table);
	free(table->others);
	keyed_done(&table->keyed);
	free(table);
	return NULL;
}

void keytable_reset(struct attar_keytable *table)
{
	CHECK_ARG_OR(table, "table", );

	remove_all(table);
	keyed_reset(&table->keyed);
	memset(table->others, 0, row_size(&table->opts));
	row_init(&table->opts, table->others);
	table->ended = false;
	table->evicted = 0;
	memset(table->hot, 0, sizeof(table->hot));
}

static void clear_interval(const struct attar_keytable *t, struct attar_keyrow *row)
{
	for (size_t i = 0; i < words(&t->opts); i++)
		row->interval.sums[i] = 0;
	for (size_t i = 0; i < t->opts.hists; i++) {
		struct attar_hist *hist = &row->interval.hists[i];

		if (hist->count)
			hist_reset(hist);
		else
			attar_hist_done(hist);
	}
}

void keytable_begin_interval(struct attar_keytable *t)
{
	if (!t->ended)
		return;
	keyed_each (&t->keyed, struct attar_keyrow, row)
		clear_interval(t, row);
	clear_interval(t, t->others);
	t->ended = false;
}

static int end_interval(const struct attar_keytable *t, struct attar_keyrow *row)
{
	keytable_add_sums(t, &row->whole, &row->interval);
	for (size_t i = 0; i < t->opts.hists; i++) {
		int r = attar_hist_merge(&row->whole.hists[i], &row->interval.hists[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

int attar_keytable_end_interval(struct attar_keytable *table)
{
	CHECK_ARG(table, "table");

	int r = 0, first;

	keytable_begin_interval(table);
	keyed_each (&table->keyed, struct attar_keyrow, row) {
		first = end_interval(table, row);
		r = r < 0 ? r : first;
	}
	first = end_interval(table, table->others);
	table->ended = true;
	return r < 0 ? r : first;
}

static struct attar_keyrow *add(struct attar_keytable *t, const struct keyed_key *key)
{
	struct attar_keyrow *row;

	if (key->size > t->keyed.key_max) {
		attar_fail(-EINVAL, "a key has %zu bytes, this table takes at most %zu", key->size,
			t->keyed.key_max);
		return NULL;
	}
	if (keyed_is_full(&t->keyed) && keytable_evict(t) < 0)
		return NULL;
	row = keyed_new(&t->keyed, key);
	if (!row)
		return NULL;
	keyed_link(&t->keyed, row);
	memset(row, 0, t->keyed.size);
	row_init(&t->opts, row);
	row->key = keyed_bytes(&t->keyed, row);
	row->key_size = key->size;
	row->number = key->number;
	return row;
}

static inline struct attar_keyrow *at(struct attar_keytable *t, const struct keyed_key *key)
{
	struct attar_keyrow *row;

	if (unlikely(t->ended))
		keytable_begin_interval(t);
	row = keyed_find(&t->keyed, key);
	return likely(row) ? row : add(t, key);
}

static __attribute__((noinline)) struct attar_keyrow *at_cold(
	struct attar_keytable *t, uint64_t number)
{
	struct keyed_key k = keyed_number(&number);

	return *keytable_hot(t, number) = at(t, &k);
}

struct attar_keyrow *attar_keytable_at_u64(struct attar_keytable *table, uint64_t key)
{
	struct attar_keyrow *row = *keytable_hot(table, key);

	return likely(row && row->number == key && !table->ended) ? row : at_cold(table, key);
}

struct attar_keyrow *attar_keytable_at(
	struct attar_keytable *table, const void *key, size_t key_size)
{
	struct keyed_key k;
	uint64_t number;

	if (key_size == sizeof(number)) {
		memcpy(&number, key, sizeof(number));
		return attar_keytable_at_u64(table, number);
	}
	k = keyed_key(&table->keyed, key, key_size);
	return at(table, &k);
}

struct attar_keyrow *attar_keytable_find(
	const struct attar_keytable *table, const void *key, size_t key_size)
{
	CHECK_ARG_OR(table, "table", NULL);
	CHECK_ARG_OR(key, "key", NULL);

	struct keyed_key k = keyed_key(&table->keyed, key, key_size);

	return keyed_find(&table->keyed, &k);
}

struct attar_keyrow *attar_keytable_others(const struct attar_keytable *table)
{
	CHECK_ARG_OR(table, "table", NULL);

	return table->others;
}

struct attar_keyrow *attar_keytable_next(
	const struct attar_keytable *table, const struct attar_keyrow *row)
{
	CHECK_ARG_OR(table, "table", NULL);

	return keyed_from(&table->keyed, row ? keyed_head(row)->index + 1 : 0);
}

size_t attar_keytable_keys(const struct attar_keytable *table)
{
	CHECK_ARG_OR(table, "table", 0);

	return table->keyed.n;
}

void keytable_get_stats(const struct attar_keytable *table, struct attar_keytable_stats *ret_stats)
{
	CHECK_ARG_OR(table, "table", );
	CHECK_ARG_OR(ret_stats, "ret_stats", );

	size_t memory = sizeof(*table) + row_size(&table->opts) + keyed_memory(&table->keyed);

	keyed_each (&table->keyed, struct attar_keyrow, row)
		for (size_t i = 0; i < 2 * table->opts.hists; i++)
			memory += hist_memory(&row->interval.hists[i]);
	for (size_t i = 0; i < 2 * table->opts.hists; i++)
		memory += hist_memory(&table->others->interval.hists[i]);
	*ret_stats = (struct attar_keytable_stats){table->keyed.n, table->evicted, memory};
}
