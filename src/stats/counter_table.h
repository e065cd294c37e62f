/* SPDX-License-Identifier: MIT */
/*
 * Counts of several events by CPU, thread or another numeric key, and over several runs: sum, mean
 * and deviation.
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

struct counter_cell {
	struct attar_value sum; /* over the runs */
	bool is_unknown;        /* counted together with others, in the sum of another key */
	struct attar_series runs;
};

struct counter_table_key {
	int number;
	struct counter_cell *cells; /* one for each event */
};

struct counter_table {
	VEC(struct counter_table_key) keys; /* sorted by number */
	size_t n_events;
};

/*
 * The key with that number, which is created if new; borrowed until the next call. NULL if out of
 * memory.
 */
struct counter_table_key *counter_table_key(struct counter_table *t, int number);

/* Removes the key with the highest number. */
void counter_table_drop_last(struct counter_table *t);

/* Adds the table of one run to that of all runs. */
int counter_table_merge(struct counter_table *all, const struct counter_table *run);
void counter_table_done(struct counter_table *t);

#endif
