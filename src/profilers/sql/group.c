/* SPDX-License-Identifier: MIT */
/*
 * The rows of a table in groups, so that SQLite need not sort them for GROUP BY. Equal values of
 * the columns are one group; groups are in the order in which SQLite would have sorted them.
 */
#include <stdlib.h>
#include <string.h>

#include "sql/db.h"

enum { SLOTS_MIN = 1024 };

/* A group: its first row, which has the values of all. */
struct group {
	const struct sql_row *row;
	uint64_t hash;
	size_t n, start; /* rows; position of the next one */
	uint32_t number; /* in the order of appearance */
};

struct groups {
	const struct sql_table *table;
	const struct sql_grouping *by;
	struct group *at;
	size_t n, max;
	uint32_t *slots; /* number of the group + 1; 0: free */
	size_t n_slots;  /* a power of two, at least twice the groups */
};

/* ---- values ---- */

static const struct sql_column *column_at(const struct groups *g, int i)
{
	return &g->table->columns.at[g->by->columns[i]];
}

static uint64_t hash_row(const struct groups *g, const struct sql_row *row)
{
	struct sql_view view = sql_row_view(row);
	uint64_t hash = 0;

	for (int i = 0; i < g->by->n; i++) {
		struct sql_value v = sql_column_value(column_at(g, i), &view);

		hash = sql_value_hash(hash, &v);
	}
	return hash;
}

static int compare_rows(
	const struct groups *g, const struct sql_row *one, const struct sql_row *other)
{
	struct sql_view first = sql_row_view(one), second = sql_row_view(other);
	int order = 0;

	for (int i = 0; order == 0 && i < g->by->n; i++) {
		struct sql_value a = sql_column_value(column_at(g, i), &first);
		struct sql_value b = sql_column_value(column_at(g, i), &second);

		order = sql_value_compare(&a, &b);
		order = g->by->descends[i] ? -order : order;
	}
	return order;
}

/* ---- groups ---- */

static uint32_t *slot_of(const struct groups *g, uint64_t hash, const struct sql_row *row)
{
	size_t i = hash & (g->n_slots - 1);

	while (g->slots[i] && (g->at[g->slots[i] - 1].hash != hash ||
				      compare_rows(g, g->at[g->slots[i] - 1].row, row) != 0))
		i = (i + 1) & (g->n_slots - 1);
	return &g->slots[i];
}

static bool grow(struct groups *g)
{
	size_t n_slots = g->n_slots ? 2 * g->n_slots : SLOTS_MIN, max = n_slots / 2;
	struct group *at = reallocarray(g->at, max, sizeof(*at));
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	g->at = at ? at : g->at;
	if (!at || !slots) {
		free(slots);
		return false;
	}
	free(g->slots);
	g->slots = slots;
	g->n_slots = n_slots;
	g->max = max;
	for (size_t i = 0; i < g->n; i++)
		*slot_of(g, g->at[i].hash, g->at[i].row) = (uint32_t)i + 1;
	return true;
}

/* The number of the row's group; UINT32_MAX: out of memory. */
static uint32_t group_of(struct groups *g, const struct sql_row *row)
{
	uint64_t hash = hash_row(g, row);
	uint32_t *slot;

	if (g->n == g->max && !grow(g))
		return UINT32_MAX;
	slot = slot_of(g, hash, row);
	if (!*slot) {
		g->at[g->n] = (struct group){.row = row, .hash = hash, .number = (uint32_t)g->n};
		*slot = (uint32_t)++g->n;
	}
	g->at[*slot - 1].n++;
	return *slot - 1;
}

static int compare_groups(const void *a, const void *b, void *ctx)
{
	return compare_rows(ctx, ((const struct group *)a)->row, ((const struct group *)b)->row);
}

/* Sorts the groups; the start of each is then at[rank[number]].start. */
static bool place_groups(struct groups *g, size_t **ret_starts)
{
	size_t *starts = calloc(g->n + 1, sizeof(*starts)), start = 0;

	if (!starts)
		return false;
	if (g->n)
		qsort_r(g->at, g->n, sizeof(*g->at), compare_groups, g);
	for (size_t i = 0; i < g->n; i++) {
		starts[g->at[i].number] = start;
		start += g->at[i].n;
	}
	*ret_starts = starts;
	return true;
}

static const struct sql_row *next(const struct groups *g, struct sql_place *place, bool is_filtered)
{
	const struct sql_row *row;

	do {
		row = sql_rows_next(&g->table->rows, place);
	} while (row && is_filtered && !sql_table_is_needed(g->table, row));
	return row;
}

/* Assigns each row to a group, then stores it in its place. */
static const struct sql_row **order(
	struct groups *g, bool is_filtered, uint32_t *numbers, size_t *ret_n)
{
	const struct sql_row *row, **rows;
	struct sql_place place = {0};
	size_t n = 0, *starts;

	for (; (row = next(g, &place, is_filtered)); n++) {
		numbers[n] = group_of(g, row);
		if (numbers[n] == UINT32_MAX)
			return NULL;
	}
	rows = sql_big_alloc((n + 1) * sizeof(*rows));
	if (!rows || !place_groups(g, &starts)) {
		free(rows);
		return NULL;
	}
	*ret_n = n;
	place = (struct sql_place){0};
	for (n = 0; (row = next(g, &place, is_filtered)); n++)
		rows[starts[numbers[n]]++] = row;
	free(starts);
	return rows;
}

const struct sql_row **sql_group(const struct sql_table *table, const struct sql_grouping *grouping,
	bool is_filtered, size_t *ret_n)
{
	struct groups g = {.table = table, .by = grouping};
	uint64_t n = sql_rows_count(&table->rows);
	uint32_t *numbers = n < UINT32_MAX ? sql_big_alloc((n + 1) * sizeof(*numbers)) : NULL;
	const struct sql_row **rows = NULL;

	if (numbers)
		rows = order(&g, is_filtered, numbers, ret_n);
	free(numbers);
	free(g.at);
	free(g.slots);
	return rows;
}
