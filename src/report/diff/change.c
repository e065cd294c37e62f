/* SPDX-License-Identifier: MIT */
/* Changes in the tables of the result. */
#include <math.h>

#include "report/diff/parts.h"
#include "report/model/model.h"

/* By the difference of shares and amounts, not by their ratio. */
static int by_difference(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	double p = fabs(x->value[AFTER] - x->value[BEFORE]);
	double q = fabs(y->value[AFTER] - y->value[BEFORE]);

	if (isnan(p) || isnan(q))
		return isnan(p) - isnan(q);
	return p != q ? (p < q ? 1 : -1) : (x->key > y->key) - (x->key < y->key);
}

void diff_sort(struct change *changes, size_t n)
{
	if (n)
		qsort(changes, n, sizeof(*changes), by_difference);
}

void diff_add_columns(struct attar_section *table, enum attar_unit unit)
{
	attar_section_column(table, "before", unit);
	attar_section_column(table, "after", unit);
	if (unit == ATTAR_UNIT_PERCENT)
		attar_section_column(table, "points", ATTAR_UNIT_COUNT);
	else
		attar_section_column(table, "change", ATTAR_UNIT_PERCENT);
	attar_section_column(table, "confidence", ATTAR_UNIT_PERCENT);
}

static void add_number(struct attar_section *table, double value)
{
	if (isfinite(value))
		attar_cell_double(table, value);
	else
		attar_cell_none(table);
}

void diff_add_change(struct attar_section *table, const struct change *c)
{
	attar_section_row(table);
	add_number(table, c->value[BEFORE]);
	add_number(table, c->value[AFTER]);
	add_number(table, c->by);
	add_number(table, c->confidence * 100);
}
