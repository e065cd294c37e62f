/* SPDX-License-Identifier: MIT */
/*
 * Counts of several events, apart for each CPU, thread or whatever a key numbers, and over several
 * runs: their sum, mean and deviation.
 *
 *	struct counter_table table = {.n_events = 8};
 *	struct counter_table_key *key = counter_table_key(&table, cpu);
 *	attar_value_add(&key->cells[event].sum, &value);
 *	...
 *	counter_table_merge(&all_runs, &table);
 *	counter_table_done(&table);
 */
#ifndef STATS_COUNTER_TABLE_H
#define STATS_COUNTER_TABLE_H

#include "attar/perf.h"
#include "attar/stats.h"
#include "base/vec.h"

struct tally_cell {
	struct attar_value sum; /* over the runs */
	bool is_unknown; /* it was counted, but together with others: it is in another key's sum */
	struct attar_series runs;
};

struct counter_table_key {
	int number;
	struct tally_cell *cells; /* one for each event */
};

struct counter_table {
	VEC(struct counter_table_key) keys; /* in order of their numbers */
	size_t n_events;
};

/*
 * The key of that number, made if it is new; borrowed until the next call. NULL when out of memory.
 */
struct counter_table_key *counter_table_key(struct counter_table *t, int number);

/* Takes the key of the highest number out. */
void tally_drop_last(struct counter_table *t);

/* Adds the table of one run to that of all of them. */
int counter_table_merge(struct counter_table *all, const struct counter_table *run);
void counter_table_done(struct counter_table *t);

#endif
