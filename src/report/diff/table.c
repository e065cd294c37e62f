/* SPDX-License-Identifier: MIT */
/* Tables: each column is compared on its own, row by row. */
#include <math.h>

#include "report/diff/parts.h"
#include "report/model/model.h"

static bool is_compared(enum attar_unit unit)
{
	return unit == ATTAR_UNIT_COUNT || unit == ATTAR_UNIT_PERCENT || unit == ATTAR_UNIT_NS ||
	       unit == ATTAR_UNIT_BYTES || unit == ATTAR_UNIT_HZ;
}

/* The cells of labels are texts: the unit of a number is part of the heading. */
static void add_label_column(
	struct attar_section *table, const struct attar_section *like, const struct column *column)
{
	struct buf name _cleanup_(buf_done) = {0};

	buf_str(&name, section_text(like, column->name));
	if (column->unit == ATTAR_UNIT_NS || column->unit == ATTAR_UNIT_BYTES)
		buf_printf(&name, " (%s)", unit_name(column->unit));
	attar_section_column(table, buf_text(&name), ATTAR_UNIT_TEXT);
}

static void write_column(struct diff *d, struct column_diff *c, const struct attar_section *like)
{
	struct buf name _cleanup_(buf_done) = {0};
	struct attar_section *table;

	buf_printf(&name, "%s: %s", c->section, c->column);
	table = attar_report_table(d->out, buf_text(&name));
	diff_add_columns(table, c->unit);
	for (size_t i = 0; i < like->columns.n; i++)
		if (diff_is_label(like, i))
			add_label_column(table, like, &like->columns.at[i]);
	vec_each (&c->changes, change) {
		diff_add_change(table, change);
		diff_add_labels(d, table, change->key);
	}
}

/* The column with the numbers of samples from which shares are computed. */
static const char *basis_of(const struct attar_section *s, enum attar_unit unit)
{
	for (size_t i = 0; i < s->columns.n && unit == ATTAR_UNIT_PERCENT; i++)
		if (s->columns.at[i].unit == ATTAR_UNIT_COUNT)
			return section_text(s, s->columns.at[i].name);
	return NULL;
}

/* Whether shares are compared instead of the numbers of samples from which they are computed. */
static bool is_basis(const struct attar_section *s, const char *column)
{
	for (size_t i = 0; i < s->columns.n; i++) {
		const char *basis = basis_of(s, s->columns.at[i].unit);

		if (basis && !strcmp(basis, column))
			return true;
	}
	return false;
}

static int compare_column(
	struct diff *d, const struct attar_section *like, size_t column, const diff_keys *keys)
{
	struct column_diff c _cleanup_(diff_column_done) = {
		.keys = keys,
		.section = section_text(like, like->name),
		.column = section_text(like, like->columns.at[column].name),
		.unit = like->columns.at[column].unit,
		.intervals = {d->sides[BEFORE].n, d->sides[AFTER].n},
		.full_intervals = {diff_full_intervals(&d->sides[BEFORE]),
			diff_full_intervals(&d->sides[AFTER])},
	};
	int e;

	c.basis = basis_of(like, c.unit);
	e = diff_rows_add(d, &c);
	if (e < 0)
		return e;
	for (size_t i = 0; i < c.changes.n; i++) {
		diff_measure(&c, i, BEFORE);
		diff_measure(&c, i, AFTER);
		diff_set_confidence(
			d, &c.changes.at[i], c.unit, c.changes.n, !is_basis(like, c.column));
	}
	diff_sort(c.changes.at, c.changes.n);
	write_column(d, &c, like);
	return 0;
}

int diff_table(struct diff *d, const struct attar_section *like)
{
	diff_keys keys = {0};
	int e = diff_rows_keys(d, section_text(like, like->name), &keys);

	for (size_t i = 0; i < like->columns.n && e == 0; i++)
		if (is_compared(like->columns.at[i].unit) && !diff_is_label(like, i))
			e = compare_column(d, like, i, &keys);
	vec_done(&keys);
	return e;
}
