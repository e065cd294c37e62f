/* SPDX-License-Identifier: MIT */
/*
 * Counts of several events, apart for each CPU, thread or whatever a key numbers, and over several runs:
 * their sum, mean and deviation.
 *
 *	struct tally table = {.n_events = 8};
 *	struct tally_key *key = tally_key(&table, cpu);
 *	attar_value_add(&key->cells[event].sum, &value);
 *	...
 *	tally_merge(&all_runs, &table);
 *	tally_done(&table);
 */
#ifndef STATS_TALLY_H
#define STATS_TALLY_H

#include "attar/perf.h"
#include "base/vec.h"

/* A number that is measured again and again (Welford's method). */
struct spread {
	double mean, squares; /* of the distances from the mean */
	uint64_t n;
};

void spread_add(struct spread *s, double value);

/* The standard deviation of one measurement in percent of the mean; 0 with less than two of them. */
double spread_deviation(const struct spread *s);

struct tally_cell {
	struct attar_value sum; /* over the runs */
	bool is_unknown; /* it was counted, but together with others: it is in another key's sum */
	struct spread runs;
};

struct tally_key {
	int number;
	struct tally_cell *cells; /* one for each event */
};

struct tally {
	VEC(struct tally_key) keys; /* in order of their numbers */
	size_t n_events;
};

/* The key of that number, made if it is new; borrowed until the next call. NULL when out of memory. */
struct tally_key *tally_key(struct tally *t, int number);

/* Takes the key of the highest number out. */
void tally_drop_last(struct tally *t);

/* Adds the table of one run to that of all of them. */
int tally_merge(struct tally *all, const struct tally *run);
void tally_done(struct tally *t);

#endif
