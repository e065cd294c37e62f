/* SPDX-License-Identifier: MIT */
/*
 * The rows that have the values of a row of another table, for joins and subqueries: the rows are
 * ordered by these columns once, and each lookup is a binary search.
 */
#include <stdlib.h>
#include <string.h>

#include "sql/db.h"

struct sql_lookup {
	struct sql_lookup *next;
	const struct sql_table *table;
	struct sql_grouping by;
	const struct sql_row **rows;
	size_t n;
};

static bool is_of(const struct sql_lookup *lookup, const struct sql_scan *scan)
{
	return lookup->table == scan->table && lookup->by.n == scan->lookup.n &&
	       !memcmp(lookup->by.columns, scan->lookup.columns,
		       (size_t)scan->lookup.n * sizeof(*scan->lookup.columns));
}

/* NULL: out of memory. */
static struct sql_lookup *lookup_of(struct sql_db *db, const struct sql_scan *scan)
{
	struct sql_lookup *lookup = db->lookups;

	while (lookup && !is_of(lookup, scan))
		lookup = lookup->next;
	if (lookup)
		return lookup;
	lookup = calloc(1, sizeof(*lookup));
	if (!lookup)
		return NULL;
	lookup->table = scan->table;
	lookup->by = scan->lookup;
	lookup->rows = sql_group(scan->table, &lookup->by, db->opts.is_filtered, &lookup->n);
	if (!lookup->rows) {
		free(lookup);
		return NULL;
	}
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

const struct sql_row *const *sql_lookup(struct sql_db *db, const struct sql_scan *scan,
	const struct sql_value *values, size_t *ret_n)
{
	const struct sql_lookup *lookup = lookup_of(db, scan);
	size_t start;

	if (!lookup)
		return NULL;
	start = first(lookup, values, 0);
	*ret_n = first(lookup, values, 1) - start;
	return lookup->rows + start;
}
