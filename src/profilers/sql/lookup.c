/* SPDX-License-Identifier: MIT */
/*
 * The rows that have the values of a row of another table, for joins and subqueries: the rows are
 * ordered by these columns once, and each lookup is a binary search.
 */
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "sql/db.h"

struct sql_lookup {
	struct sql_lookup *next;
	const struct attar_run *run;
	const struct sql_table *table;
	struct sql_grouping by;
	const struct sql_row **rows;
	size_t n;
};

/* ---- rows by values and times ---- */

static int64_t time_of(const struct sql_lookup *lookup, const struct sql_row *row)
{
	return (int64_t)attar_run_realtime(lookup->run, row->time);
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct sql_row *one = *(const struct sql_row *const *)a,
			     *other = *(const struct sql_row *const *)b;
	struct sql_view first = sql_row_view(one), second = sql_row_view(other);
	const struct sql_lookup *lookup = ctx;
	int64_t time = time_of(lookup, one), next = time_of(lookup, other);
	int order = 0;

	for (int i = 0; order == 0 && i < lookup->by.n; i++) {
		const struct sql_column *c = &lookup->table->columns.at[lookup->by.columns[i]];
		struct sql_value x = sql_column_value(c, &first), y = sql_column_value(c, &second);

		order = sql_value_compare(&x, &y);
	}
	return order ? order : (time > next) - (time < next);
}

/* Events that arrived late are not in the order of their times. */
static void order_times(struct sql_lookup *lookup)
{
	for (size_t i = 1; i < lookup->n; i++) {
		if (lookup->rows[i]->time >= lookup->rows[i - 1]->time ||
			compare_rows(&lookup->rows[i - 1], &lookup->rows[i], lookup) <= 0)
			continue;
		qsort_r(lookup->rows, lookup->n, sizeof(*lookup->rows), compare_rows, lookup);
		return;
	}
}

/* ---- lookups of a database ---- */

static bool is_of(const struct sql_lookup *lookup, const struct sql_table *table,
	const struct sql_grouping *by)
{
	return lookup->table == table && lookup->by.n == by->n &&
	       !memcmp(lookup->by.columns, by->columns, (size_t)by->n * sizeof(*by->columns));
}

/* NULL: out of memory. */
static struct sql_lookup *lookup_of(
	struct sql_db *db, const struct sql_table *table, const struct sql_grouping *by)
{
	struct sql_lookup *lookup = db->lookups;

	while (lookup && !is_of(lookup, table, by))
		lookup = lookup->next;
	if (lookup)
		return lookup;
	lookup = calloc(1, sizeof(*lookup));
	if (!lookup)
		return NULL;
	lookup->run = db->run;
	lookup->table = table;
	lookup->by = *by;
	lookup->rows = sql_group(table, &lookup->by, db->opts.is_filtered, &lookup->n);
	if (!lookup->rows) {
		free(lookup);
		return NULL;
	}
	order_times(lookup);
	lookup->next = db->lookups;
	db->lookups = lookup;
	return lookup;
}

void sql_lookups_free(struct sql_db *db)
{
	for (struct sql_lookup *next, *lookup = db->lookups; lookup; lookup = next) {
		next = lookup->next;
		free(lookup->rows);
		free(lookup);
	}
	db->lookups = NULL;
}

/* ---- searching ---- */

/* How the values of a row are ordered relative to those that are looked up. */
static int compare(
	const struct sql_lookup *lookup, const struct sql_row *row, const struct sql_value *values)
{
	struct sql_view view = sql_row_view(row);
	int order = 0;

	for (int i = 0; order == 0 && i < lookup->by.n; i++) {
		struct sql_value value =
			sql_column_value(&lookup->table->columns.at[lookup->by.columns[i]], &view);

		order = sql_value_compare(&value, &values[i]);
	}
	return order;
}

/* The position of the first row whose values compare as `least` or more: 0 equal, 1 larger. */
static size_t first(const struct sql_lookup *lookup, const struct sql_value *values, int least)
{
	size_t low = 0, high = lookup->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(lookup, lookup->rows[middle], values) < least)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The position of the first of the rows from low to high that is at the time or later. */
static size_t first_at(const struct sql_lookup *lookup, size_t low, size_t high, int64_t time)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (time_of(lookup, lookup->rows[middle]) < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct sql_row *const *sql_lookup(struct sql_db *db, const struct sql_table *table,
	const struct sql_grouping *by, const struct sql_value *values, const int64_t *from,
	const int64_t *to, size_t *ret_n)
{
	const struct sql_lookup *lookup = lookup_of(db, table, by);
	size_t start, end;

	if (!lookup)
		return NULL;
	start = first(lookup, values, 0);
	end = first(lookup, values, 1);
	if (from)
		start = first_at(lookup, start, end, *from);
	if (to && *to < INT64_MAX)
		end = first_at(lookup, start, end, *to + 1);
	*ret_n = end - start;
	return lookup->rows + start;
}
