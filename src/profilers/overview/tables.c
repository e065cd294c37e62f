/* SPDX-License-Identifier: MIT */
/* The tables that events fill in. */
#include "overview/overview.h"

enum { KEYS_MAX = 16384 };

#define TABLE(member) offsetof(struct overview, member)

static const struct {
	size_t at, key, sums, hists;
} tables[] = {
	{TABLE(threads), sizeof(struct thread_group), THREAD_SUMS, 0},
	{TABLE(places), sizeof(struct overview_place), PLACE_SUMS, 0},
	{TABLE(functions), sizeof(struct overview_place), PLACE_SUMS, 0},
	{TABLE(callers), sizeof(struct overview_place), CALLER_SUMS, 0},
	{TABLE(calls), sizeof(struct overview_call), CALL_SUMS, 0},
	{TABLE(errors), sizeof(struct overview_error), ERROR_SUMS, 0},
	{TABLE(failures), sizeof(struct overview_failure), FAILURE_SUMS, 0},
	{TABLE(starts), sizeof(struct overview_start), 1, 0},
	{TABLE(execs), sizeof(struct overview_start), 1, 0},
	{TABLE(signals), sizeof(struct overview_signal), 1, 0},
	{TABLE(retransmits), OVERVIEW_HOST_BYTES, 1, 0},
	{TABLE(ends), sizeof(struct overview_end), 1, 0},
	{TABLE(latencies), sizeof(uint64_t), 0, 1},
	{TABLE(counts), sizeof(uint64_t), 1, 0},
};

enum { TABLES = sizeof(tables) / sizeof(*tables) };

static struct attar_keytable **table_of(struct overview *o, size_t i)
{
	return (struct attar_keytable **)((char *)o + tables[i].at);
}

int overview_open_tables(struct overview *o)
{
	const struct attar_pairs_opts exited = {.size = sizeof(exited),
		.policy = ATTAR_PAIRS_FIRST,
		.payload_size = sizeof(uint64_t),
		.open_max = 4096};
	int r = 0;

	for (size_t i = 0; r == 0 && i < TABLES; i++) {
		const struct attar_keytable_opts opts = {.size = sizeof(opts),
			.sums = tables[i].sums,
			.hists = tables[i].hists,
			.key_max = tables[i].key,
			.keys_max = KEYS_MAX,
			.rank = tables[i].sums ? tables[i].sums - 1 : 0};

		r = attar_keytable_new(&opts, table_of(o, i));
	}
	return r == 0 ? attar_pairs_new(&exited, &o->exited) : r;
}

int overview_end_interval(struct overview *o)
{
	int r = attar_keytable_end_interval(o->slices.estimates);

	for (size_t i = 0; r == 0 && i < TABLES; i++)
		r = attar_keytable_end_interval(*table_of(o, i));
	return r;
}

void overview_close_tables(struct overview *o)
{
	for (size_t i = 0; i < TABLES; i++)
		attar_keytable_free(*table_of(o, i));
	attar_pairs_free(o->requests);
	attar_pairs_free(o->failed);
	attar_pairs_free(o->exited);
}
