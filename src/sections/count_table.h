/* SPDX-License-Identifier: MIT */
/*
 * Counts of several events by CPU, thread or another numeric key, and over several runs: sum, mean
 * and deviation.
 *
 *	struct count_table table = {.n_events = 8};
 *	struct count_table_key *key = count_table_key(&table, cpu);
 *	attar_value_add(&key->counts[event].sum, &value);
 *	...
 *	count_table_merge(&all_runs, &table);
 *	count_table_done(&table);
 */
#ifndef SECTIONS_COUNT_TABLE_H
#define SECTIONS_COUNT_TABLE_H

#include "attar/perf.h"
#include "attar/sections.h"
#include "base/vec.h"

struct count_table_key {
	int number;
	struct attar_count *counts; /* one for each event */
};

struct count_table {
	VEC(struct count_table_key) keys; /* sorted by number */
	size_t n_events;
};

/*
 * The key with that number, which is created if new; borrowed until the next call. NULL if out of
 * memory.
 */
struct count_table_key *count_table_key(struct count_table *t, int number);

/* Removes the key with the highest number. */
void count_table_drop_last(struct count_table *t);

/* Adds the table of one run to the table of all runs. */
int count_table_merge(struct count_table *all, const struct count_table *run);
void count_table_done(struct count_table *t);

#endif
