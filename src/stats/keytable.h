/* SPDX-License-Identifier: MIT */
/* Internals of the keyed table, see attar/keytable.h. */
#ifndef STATS_KEYTABLE_H
#define STATS_KEYTABLE_H

#include "attar/keytable.h"
#include "attar/private/keytable.h"
#include "stats/keyed.h"

enum { KEYTABLE_HOT = 128 };

struct attar_keytable {
	struct keyed keyed; /* of struct attar_keyrow, its sums, histograms and block */
	struct attar_keytable_opts opts;
	struct attar_keyrow *others;
	bool ended; /* the interval's sums are also in the sums of the whole run */
	uint64_t evicted;
	/* cache of rows with keys of 8 bytes, by keytable_hot(); NULL: none */
	struct attar_keyrow *hot[KEYTABLE_HOT];
};

/* The cache slot of a key. */
static inline struct attar_keyrow **keytable_hot(struct attar_keytable *t, uint64_t number)
{
	return &t->hot[number * UINT64_C(0x9e3779b97f4a7c15) / (UINT64_MAX / KEYTABLE_HOT + 1)];
}

/* Clears the interval of all rows if it has ended. */
void keytable_begin_interval(struct attar_keytable *t);

/* Evicts a quarter of the keys. 0 or -ENOMEM. */
int keytable_evict(struct attar_keytable *t);

static inline bool keytable_is_signed(const struct attar_keytable *t, size_t sum)
{
	return t->opts.signed_sums >> sum & 1;
}

/* Adds the sums of a row. */
static inline void keytable_add_sums(const struct attar_keytable *t, const struct attar_keysums *to,
	const struct attar_keysums *from)
{
	size_t n = t->opts.sums;

	for (size_t i = 0; i < n; i++) {
		bool was_beyond = keysums_is_beyond(to, n, i);

		keysums_add(to, n, i, from->sums[i], keytable_is_signed(t, i));
		if (was_beyond || !keysums_is_beyond(from, n, i))
			continue;
		to->sums[i] = from->sums[i];
		to->sums[n] |= UINT64_C(1) << i;
	}
}

#endif
