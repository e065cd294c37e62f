/* SPDX-License-Identifier: MIT */
/*
 * What attar/keytable.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_KEYTABLE_H
#define ATTAR_PRIVATE_KEYTABLE_H

#include "attar/keytable.h"

/* The sum of two sums. One that does not fit into 64 bits is the nearest limit: *ret_is_beyond. */
static inline uint64_t keysum_of(uint64_t a, uint64_t b, bool is_signed, bool *ret_is_beyond)
{
	int64_t as_signed;
	uint64_t sum;

	if (is_signed) {
		*ret_is_beyond = __builtin_add_overflow((int64_t)a, (int64_t)b, &as_signed);
		sum = *ret_is_beyond ? (uint64_t)(b >> 63 ? INT64_MIN : INT64_MAX)
				     : (uint64_t)as_signed;
	} else {
		*ret_is_beyond = __builtin_add_overflow(a, b, &sum);
		sum = *ret_is_beyond ? UINT64_MAX : sum;
	}
	return sum;
}

/* After the n sums of a row (opts.sums) is a word whose bit i says that sum i left 64 bits. */
static inline bool keysums_is_beyond(const struct attar_keysums *sums, size_t n, size_t i)
{
	return n && sums->sums[n] >> i & 1;
}

/* Adds to sum i of a row's n sums. One that leaves 64 bits stays at the limit that it reached. */
static inline void keysums_add(
	const struct attar_keysums *sums, size_t n, size_t i, uint64_t value, bool is_signed)
{
	bool is_beyond;

	if (keysums_is_beyond(sums, n, i))
		return;
	sums->sums[i] = keysum_of(sums->sums[i], value, is_signed, &is_beyond);
	sums->sums[n] |= (uint64_t)is_beyond << i;
}

/*
 * Adds the rows of `from` to `to`, which has the same numbers of sums and histograms and size of
 * the block, and no shorter longest key (-EINVAL otherwise). The block of a new row is copied;
 * the values of other rows are unchanged. Returns 0; -ENOMEM: a part has been added.
 */
int keytable_merge(struct attar_keytable *to, const struct attar_keytable *from);

/* Removes all keys and sums; calls on_remove for each row. */
void keytable_reset(struct attar_keytable *table);

struct attar_keytable_stats {
	uint64_t keys;    /* rows */
	uint64_t evicted; /* rows whose sums were added to the others row; a key may count twice */
	uint64_t memory;  /* bytes allocated, without what values point to */
};

/* The statistics. Reads all rows. */
void keytable_get_stats(const struct attar_keytable *table, struct attar_keytable_stats *ret_stats);

#endif
