/* SPDX-License-Identifier: MIT */
/* Tables and time series as gauges; pids and tids are left out. */
#include <math.h>

#include "report/model/column_amount.h"
#include "report/model/number.h"
#include "report/sinks/prometheus/prometheus.h"

enum { ROWS_MAX = 20 }; /* of a section, without "other" */

static bool is_label(const struct attar_section *s, size_t column)
{
	const struct column *c = &s->columns.at[column];

	return column_role_of(section_text(s, c->name), c->unit) == COLUMN_LABEL;
}

static bool is_value(const struct attar_section *s, size_t column)
{
	enum attar_unit unit = s->columns.at[column].unit;

	return !is_label(s, column) && (unit == ATTAR_UNIT_COUNT || metrics_suffix(unit));
}

/* How the values of several rows become one. */
enum merge { MERGE_SUM, MERGE_LEAST, MERGE_MOST };

static enum merge merge_of(const char *column, enum attar_unit unit)
{
	enum amount_kind kind = amount_kind_of(column);

	if (kind == AMOUNT_LEAST)
		return MERGE_LEAST;
	if (kind != AMOUNT_SUM || unit == ATTAR_UNIT_HZ ||
		(unit == ATTAR_UNIT_PERCENT && !strcmp(column, "total")))
		return MERGE_MOST;
	return MERGE_SUM;
}

static double merge(enum merge how, double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) ? b : a;
	return how == MERGE_SUM ? a + b : how == MERGE_LEAST ? fmin(a, b) : fmax(a, b);
}

/* A series of a table: the rows with the same labels. */
struct series {
	struct buf labels;
};

struct table {
	const struct attar_section *section;
	VEC(struct series) series;
	VEC(uint32_t) series_of; /* of each row */
};

static void table_done(struct table *t)
{
	vec_each (&t->series, it)
		buf_done(&it->labels);
	vec_done(&t->series);
	vec_done(&t->series_of);
}

static void add_cell_text(struct buf *b, const struct attar_section *s, struct cell cell)
{
	if (cell.kind == CELL_TEXT)
		buf_str(b, section_text(s, cell.text));
	else if (cell.kind != CELL_NONE)
		number_plain(b, ATTAR_UNIT_ID, cell);
}

/* The labels of a row; row s->rows: of all others. */
static void list_labels(struct buf *b, const struct attar_section *s, uint32_t row)
{
	for (size_t i = 0; i < s->columns.n; i++) {
		struct buf value _cleanup_(buf_done) = {0};

		if (!is_label(s, i))
			continue;
		if (row == s->rows)
			buf_str(&value, "other");
		else
			add_cell_text(&value, s, section_cell(s, row, i));
		metrics_add_label(b, section_text(s, s->columns.at[i].name), buf_text(&value));
		b->failed |= value.failed;
	}
}

static uint32_t find_series(const struct table *t, const struct buf *labels)
{
	uint32_t i = 0;

	while (i < t->series.n && strcmp(buf_text(&t->series.at[i].labels), buf_text(labels)) != 0)
		i++;
	return i;
}

/* Assigns rows to series; the last series is for all rows for which there is no room. */
static int list_series(struct table *t)
{
	const struct attar_section *s = t->section;

	for (uint32_t row = 0; row < s->rows; row++) {
		struct series series = {0};
		uint32_t found;

		list_labels(&series.labels, s, t->series.n > ROWS_MAX ? s->rows : row);
		found = find_series(t, &series.labels);
		if (found == t->series.n && t->series.n == ROWS_MAX) {
			buf_reset(&series.labels);
			list_labels(&series.labels, s, s->rows);
		}
		if (found < t->series.n)
			buf_done(&series.labels);
		else if (vec_push(&t->series, series) < 0)
			return -ENOMEM;
		if (vec_push(&t->series_of, found) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void draw_column(struct attar_renderer *r, const struct table *t, size_t column)
{
	const struct attar_section *s = t->section;
	const struct column *c = &s->columns.at[column];
	const char *title = section_text(s, c->name);
	enum merge how = merge_of(title, c->unit);
	struct buf name _cleanup_(buf_done) = {0}, help _cleanup_(buf_done) = {0};
	bool changed;

	metrics_add_name(&name, s->report, section_text(s, s->name), title, c->unit);
	buf_printf(&help, "Newest interval: %s of %s.", title, section_text(s, s->name));
	changed = metrics_make_unique(r->state, &name);
	metrics_add_head(
		r, buf_text(&name), "gauge", buf_text(&help), changed ? ATTAR_UNIT_COUNT : c->unit);
	for (uint32_t i = 0; i < t->series.n; i++) {
		double value = NAN;

		for (uint32_t row = 0; row < s->rows; row++)
			if (t->series_of.at[row] == i)
				value = merge(
					how, value, number_value(section_cell(s, row, column)));
		if (!isnan(value))
			metrics_add_sample(&r->out, buf_text(&name), &t->series.at[i].labels,
				metrics_scaled(c->unit, value));
	}
}

int metrics_table(struct attar_renderer *r, const struct attar_section *s)
{
	struct table t _cleanup_(table_done) = {.section = s};

	if (list_series(&t) < 0)
		return base_oom();
	for (size_t i = 0; i < s->columns.n && s->rows; i++)
		if (is_value(s, i))
			draw_column(r, &t, i);
	return 0;
}

void metrics_time_series(struct attar_renderer *r, const struct attar_section *s)
{
	struct buf name _cleanup_(buf_done) = {0};
	enum attar_unit unit = s->columns.n > 1 ? s->columns.at[1].unit : ATTAR_UNIT_COUNT;
	bool changed;

	if (!s->rows || s->columns.n < 2)
		return;
	metrics_add_name(&name, s->report, section_text(s, s->name), NULL, unit);
	changed = metrics_make_unique(r->state, &name);
	metrics_add_head(r, buf_text(&name), "gauge", "The newest value of a series.",
		changed ? ATTAR_UNIT_COUNT : unit);
	for (size_t i = 1; i < MIN(s->columns.n, (size_t)ROWS_MAX + 1); i++) {
		struct buf label _cleanup_(buf_done) = {0};
		double value = number_value(section_cell(s, s->rows - 1, i));

		metrics_add_label(&label, "series", section_text(s, s->columns.at[i].name));
		if (!isnan(value))
			metrics_add_sample(
				&r->out, buf_text(&name), &label, metrics_scaled(unit, value));
	}
}
