/* SPDX-License-Identifier: MIT */
/*
 * attar/keytable.h - sums and histograms by key, with a bounded number of keys.
 *
 * A key is a sequence of at most 256 bytes: a number, a name, several fields. Each key has a row:
 * u64 sums and histograms of the current interval and of the whole run, and a block of bytes for
 * the profiler.
 *
 *	enum { CALLS, ERRORS, SUMS };
 *	struct attar_keytable_opts opts = {.size = sizeof(opts), .sums = SUMS, .hists = 1};
 *	struct attar_keytable *table;
 *	struct attar_keyrow *row, *rows[10];
 *
 *	attar_keytable_new(&opts, &table);
 *	...
 *	row = attar_keytable_at_u64(table, syscall);
 *	if (!row)
 *		return -ENOMEM;
 *	row->interval.sums[CALLS]++;
 *	attar_hist_add(&row->interval.hists[0], duration);
 *	...
 *	attar_keytable_end_interval(table);
 *	n = attar_keytable_top(table, ATTAR_SCOPE_INTERVAL, CALLS, rows, 10);
 *
 * When the table is full, a quarter of its keys, those with the smallest sum, is evicted: what they
 * have is added to the row of attar_keytable_others(), so that totals stay exact. The sums of a key
 * that was evicted and came back lack what was added to the others.
 *
 * Memory of a key: 88 bytes, 16 for each sum, 96 for each histogram and what they allocate (see
 * attar/hist.h), the block, the longest key (rounded up to 8), and 16 to 32 for the hash table.
 * Adding to a known key allocates nothing.
 */
#ifndef ATTAR_KEYTABLE_H
#define ATTAR_KEYTABLE_H

#include "attar/base.h"
#include "attar/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ATTAR_KEY_MAX 256 /* bytes of a key */

struct attar_keytable;

/* Sums and histograms of a row. */
struct attar_keysums {
	uint64_t *sums;           /* opts.sums */
	struct attar_hist *hists; /* opts.hists */
};

/*
 * A row. Borrowed from the table until the next call that can evict keys: attar_keytable_at(),
 * attar_keytable_at_u64().
 */
struct attar_keyrow {
	const void *key;               /* NULL: the row of attar_keytable_others() */
	size_t key_size;               /* bytes */
	uint64_t number;               /* a key of 8 bytes as a number; otherwise undefined */
	struct attar_keysums interval; /* add to these */
	struct attar_keysums whole;    /* up to the last attar_keytable_end_interval() */
	void *value;                   /* opts.value_size bytes, aligned to 8; new rows: zeroed */
};

/* The part of a run that a report covers. */
enum attar_scope {
	ATTAR_SCOPE_INTERVAL, /* since the previous report; the profiler then starts at zero */
	ATTAR_SCOPE_WHOLE,    /* since the start */
};

/* The sums and histograms of a scope, after attar_keytable_end_interval(). */
static inline const struct attar_keysums *attar_keyrow_sums(
	const struct attar_keyrow *row, enum attar_scope scope)
{
	return scope == ATTAR_SCOPE_WHOLE ? &row->whole : &row->interval;
}

/*
 * Called before a row is removed, with the context of the options: to free what its value points
 * to, or to add it to the value of the others row.
 */
typedef void attar_keyrow_fn(void *ctx, struct attar_keyrow *row);

struct attar_keytable_opts {
	size_t size;       /* sizeof(struct attar_keytable_opts) */
	size_t sums;       /* u64 sums of a key, at most 64 */
	size_t hists;      /* histograms of a key, at most 64 */
	size_t value_size; /* bytes of the profiler's block of a key, at most 65,536 */
	size_t key_max;    /* longest key in bytes, at most ATTAR_KEY_MAX; 0: 8 */
	size_t keys_max;   /* keys, at least 8 and at most 2^24; 0: 65,536 */
	/*
	 * Sum of the whole run by which keys are evicted: the smallest ones. Without sums: the
	 * values in the first histogram.
	 */
	size_t rank;
	attar_keyrow_fn *on_remove; /* NULL: none */
	void *ctx;
	uint64_t signed_sums; /* bit i: sum i is an int64_t, which matters for order and limits */
};

/*
 * Creates an empty table. opts may be NULL: keys of 8 bytes without sums. Returns 0, -ENOMEM, or
 * -EINVAL for an option out of range.
 */
ATTAR_API int attar_keytable_new(
	const struct attar_keytable_opts *opts, struct attar_keytable **ret_table);

/* Frees the table; calls on_remove for each row. Returns NULL. Accepts NULL. */
ATTAR_API struct attar_keytable *attar_keytable_free(struct attar_keytable *table);

/*
 * The row of a key, which is created if new. A key of 8 bytes and the number in these bytes are the
 * same key. Called per event: does not check its pointers. NULL: the key is longer than
 * opts.key_max, or out of memory.
 */
ATTAR_API struct attar_keyrow *attar_keytable_at(
	struct attar_keytable *table, const void *key, size_t key_size);
ATTAR_API struct attar_keyrow *attar_keytable_at_u64(struct attar_keytable *table, uint64_t key);

/* The row of a key; NULL if there is none. */
ATTAR_API struct attar_keyrow *attar_keytable_find(
	const struct attar_keytable *table, const void *key, size_t key_size);

/* The row of all evicted keys together. */
ATTAR_API struct attar_keyrow *attar_keytable_others(const struct attar_keytable *table);

/*
 * Iterates over the rows in no particular order: returns the row after `row`, the first for NULL,
 * and NULL after the last. The others row is not among them.
 */
ATTAR_API struct attar_keyrow *attar_keytable_next(
	const struct attar_keytable *table, const struct attar_keyrow *row);

/* The number of keys. */
ATTAR_API size_t attar_keytable_keys(const struct attar_keytable *table);

/*
 * Ends an interval: adds its sums and histograms to the sums and histograms of the whole run; sums
 * that leave 64 bits stay at the limit. Reports then read either; the next attar_keytable_at()
 * clears the sums of the interval and frees the histograms of keys that had no values in it.
 * Returns 0; -ENOMEM: the sums of the whole run are incomplete.
 */
ATTAR_API int attar_keytable_end_interval(struct attar_keytable *table);

/*
 * Stores the k rows with the largest sum in `rows`, largest first, equal ones by key, and returns
 * their number. Rows without any sum or value in the scope are left out. Returns 0 if the sum is
 * out of range.
 */
ATTAR_API size_t attar_keytable_top(const struct attar_keytable *table, enum attar_scope scope,
	size_t sum, struct attar_keyrow **rows, size_t k);

/*
 * The rows of a report: the rows of attar_keytable_top() and, if it has values in the scope, the
 * others row as the last one; its key is NULL. *ret_rows has room for them and is freed by the
 * caller with free(); the rows belong to the table. Returns 0, -ENOMEM, or -EINVAL for a sum out of
 * range.
 */
ATTAR_API int attar_keytable_rows(const struct attar_keytable *table, enum attar_scope scope,
	size_t sum, struct attar_keyrow ***ret_rows, size_t *ret_n);

#ifdef __cplusplus
}
#endif

#endif
