/* SPDX-License-Identifier: MIT */
/*
 * The cost of an event in the aggregates of attar/stats.h: the fastest of several rounds, in ns. A
 * hot key is always the same one; cold keys are a million that are evicted all the time.
 *
 *	bench_stats [rounds]
 *
 * Instructions: valgrind --tool=callgrind bench_stats 1, then callgrind_annotate.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attar/stats.h"

enum { EVENTS = 1 << 18, KEYS = 1000, STATES = 4 };

static uint64_t durations[EVENTS];
static char names[KEYS][16];

struct objects {
	struct attar_hist hist;
	struct attar_keytable *table, *cold;
	struct attar_pairs *pairs;
	struct attar_states *states;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t random_word(void)
{
	static uint64_t state = 23;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 17;
}

static void add_values(struct objects *o)
{
	for (size_t i = 0; i < EVENTS; i++)
		attar_hist_add(&o->hist, durations[i]);
}

static void add_hot_key(struct objects *o)
{
	for (size_t i = 0; i < EVENTS; i++)
		attar_keytable_at_u64(o->table, 7)->interval.sums[0]++;
}

static void add_keys(struct objects *o)
{
	for (size_t i = 0; i < EVENTS; i++)
		attar_keytable_at_u64(o->table, durations[i] % KEYS)->interval.sums[0]++;
}

static void add_names(struct objects *o)
{
	for (size_t i = 0; i < EVENTS; i++)
		attar_keytable_at(o->table, names[durations[i] % KEYS], sizeof(names[0]))
			->interval.sums[0]++;
}

static void add_cold_keys(struct objects *o)
{
	for (size_t i = 0; i < EVENTS; i++)
		attar_keytable_at_u64(o->cold, random_word() % 1000000)->interval.sums[0]++;
}

static void match(struct objects *o)
{
	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t thread = durations[i] % KEYS;
		struct attar_stamp at = {i, thread, 0};
		struct attar_start *start = attar_pairs_start_u64(o->pairs, thread, &at);

		*(uint64_t *)start->payload = i;
		if (!attar_pairs_end_u64(o->pairs, thread, &at))
			abort();
	}
}

static void change(struct objects *o)
{
	for (size_t i = 0; i < EVENTS; i++) {
		struct attar_stamp at = {i, ATTAR_NO_TASK, 0};

		attar_states_set_u64(o->states, durations[i] % KEYS, i % STATES, &at);
	}
}

static const struct {
	const char *name;
	void (*run)(struct objects *o);
} passes[] = {{"hist-add", add_values}, {"key-hot", add_hot_key}, {"key-1000", add_keys},
	{"key-name", add_names}, {"key-cold", add_cold_keys}, {"pair", match}, {"state", change}};

static int create(struct objects *o)
{
	struct attar_keytable_opts table = {.size = sizeof(table), .sums = 1, .key_max = 16};
	struct attar_keytable_opts cold = {.size = sizeof(cold), .sums = 1, .keys_max = 4096};
	struct attar_pairs_opts pairs = {.size = sizeof(pairs), .payload_size = 8};
	struct attar_states_opts states = {.size = sizeof(states), .states = STATES};

	if (attar_keytable_new(&table, &o->table) < 0 || attar_keytable_new(&cold, &o->cold) < 0 ||
		attar_pairs_new(&pairs, &o->pairs) < 0 ||
		attar_states_new(&states, &o->states) < 0) {
		fprintf(stderr, "%s\n", attar_error());
		return 1;
	}
	for (size_t i = 0; i < EVENTS; i++)
		durations[i] = 1000 + (random_word() & 0xffff) * (random_word() & 0xff);
	for (size_t i = 0; i < KEYS; i++)
		snprintf(names[i], sizeof(names[i]), "program-%zu", i);
	return 0;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 20;
	struct objects o = {0};

	if (create(&o))
		return 1;
	for (size_t pass = 0; pass < sizeof(passes) / sizeof(passes[0]); pass++) {
		uint64_t best = UINT64_MAX;

		for (long round = 0; round < rounds; round++) {
			uint64_t begin = now(), took;

			passes[pass].run(&o);
			took = now() - begin;
			best = took < best ? took : best;
		}
		printf("%s %.2f\n", passes[pass].name, (double)best / EVENTS);
	}
	attar_hist_done(&o.hist);
	attar_keytable_free(o.table);
	attar_keytable_free(o.cold);
	attar_pairs_free(o.pairs);
	attar_states_free(o.states);
	return 0;
}
