/* SPDX-License-Identifier: MIT */
/* The inside of a table by key, see attar/keytable.h. */
#ifndef STATS_KEYTABLE_H
#define STATS_KEYTABLE_H

#include "attar/keytable.h"
#include "stats/keyed.h"

struct attar_keytable {
	struct keyed keyed; /* of struct attar_keyrow, its sums, histograms and block */
	struct attar_keytable_opts opts;
	struct attar_keyrow *others;
	bool ended; /* the interval's sums are also in those of the whole run */
	uint64_t evicted;
};

/* Clears the interval of all rows if it has ended. */
void keytable_begin_interval(struct attar_keytable *t);

/* Evicts a quarter of the keys. 0 or -ENOMEM. */
int keytable_evict(struct attar_keytable *t);

#endif
