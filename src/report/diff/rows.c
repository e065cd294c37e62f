/* SPDX-License-Identifier: MIT */
/* Rows of the same labels in all intervals of both sides, and their values in a column. */
#include <math.h>

#include "report/diff/parts.h"
#include "report/model/column_amount.h"
#include "report/model/model.h"
#include "report/model/number.h"

void diff_column_done(struct column_diff *c)
{
	map_done(&c->rows);
	vec_done(&c->values);
	vec_done(&c->weights);
	vec_done(&c->changes);
}

static int column_of(const struct attar_section *s, const char *name)
{
	for (size_t i = 0; i < s->columns.n; i++)
		if (!strcmp(section_text(s, s->columns.at[i].name), name))
			return (int)i;
	return -1;
}

bool diff_is_label(const struct attar_section *s, size_t column)
{
	const struct column *c = &s->columns.at[column];

	return column_role_of(section_text(s, c->name), c->unit) == COLUMN_LABEL;
}

typedef VEC(size_t) column_list;

static uint32_t key_of(
	struct diff *d, const struct attar_section *s, const column_list *labels, uint32_t row)
{
	struct buf key _cleanup_(buf_done) = {0};
	uint32_t id = 0;

	for (size_t n = 0; n < labels->n; n++) {
		size_t i = labels->at[n];
		struct cell cell = section_cell(s, row, i);

		if (cell.kind == CELL_TEXT && diff_is_file(s, i))
			buf_str(&key, diff_same_file(d, section_text(s, cell.text)));
		else if (cell.kind == CELL_TEXT)
			buf_str(&key, section_text(s, cell.text));
		else if (cell.kind == CELL_U64 || cell.kind == CELL_I64)
			buf_i64(&key, cell.i64);
		buf_char(&key, '\x1f');
	}
	if (buf_failed(&key) || intern_id(&d->keys, buf_text(&key), &id) < 0)
		return UINT32_MAX;
	return id;
}

static int add_keys(struct diff *d, const struct attar_section *s, diff_keys *keys)
{
	column_list labels = {0};
	int e = 0;

	for (size_t i = 0; i < s->columns.n && e == 0; i++)
		if (diff_is_label(s, i))
			e = vec_push(&labels, i);
	for (uint32_t row = 0; row < s->rows && e == 0; row++) {
		uint32_t key = key_of(d, s, &labels, row);

		e = key == UINT32_MAX ? -ENOMEM : vec_push(keys, key);
	}
	vec_done(&labels);
	return e;
}

int diff_rows_keys(struct diff *d, const char *section, diff_keys *keys)
{
	int e = 0;

	for (int side = BEFORE; side < SIDES; side++)
		side_each(&d->sides[side], report)
		{
			const struct attar_section *s =
				diff_find(*report, section, ATTAR_SECTION_TABLE);

			if (s && e == 0)
				e = add_keys(d, s, keys);
		}
	return e;
}

/* The values of a row, NaN at first. NULL: out of memory. */
static double *values_of(struct column_diff *c, uint32_t key)
{
	size_t width = c->intervals[BEFORE] + c->intervals[AFTER];
	uint64_t *found = map_get(&c->rows, key);

	if (found)
		return &c->values.at[*found * width];
	if (map_put(&c->rows, key, c->changes.n) < 0 ||
		vec_push(&c->changes, (struct change){.key = key}) < 0 ||
		vec_reserve(&c->values, width) < 0)
		return NULL;
	for (size_t i = 0; i < width; i++)
		c->values.at[c->values.n++] = NAN;
	return &c->values.at[c->values.n - width];
}

/* Rows that differ only in their pids are added, if they are amounts. */
static void add_value(double *to, double value)
{
	if (!isnan(value))
		*to = isnan(*to) ? value : *to + value;
}

/* *keys is the key of the first row; adds the rows to it. */
static int add_interval(struct column_diff *c, const struct attar_report *report, size_t interval,
	const uint32_t **keys)
{
	const struct attar_section *s = diff_find(report, c->section, ATTAR_SECTION_TABLE);
	int column = s ? column_of(s, c->column) : -1, basis;
	const uint32_t *key = *keys;

	*keys += s ? s->rows : 0;
	if (column < 0)
		return 0;
	basis = c->basis ? column_of(s, c->basis) : -1;
	for (uint32_t row = 0; row < s->rows; row++) {
		double *values = values_of(c, key[row]);

		if (!values)
			return -ENOMEM;
		add_value(&values[interval], number_value(section_cell(s, row, (size_t)column)));
		if (basis >= 0)
			add_value(&c->weights.at[interval],
				number_value(section_cell(s, row, (size_t)basis)));
	}
	return 0;
}

int diff_rows_add(struct diff *d, struct column_diff *c)
{
	const uint32_t *keys = c->keys->at;
	size_t interval = 0;
	int e = 0;

	for (size_t i = 0; i < c->intervals[BEFORE] + c->intervals[AFTER] && e == 0; i++)
		e = vec_push(&c->weights, NAN);
	for (int side = BEFORE; side < SIDES; side++)
		side_each(&d->sides[side], report) if (e == 0) e =
			add_interval(c, *report, interval++, &keys);
	return e;
}

void diff_add_labels(struct diff *d, struct attar_section *table, uint32_t key)
{
	const char *text = intern_get(&d->keys, key);

	while (*text) {
		size_t n = strcspn(text, "\x1f");
		char *label = strndup(text, n);

		attar_cell_text(table, label ?: "");
		free(label);
		text += n + (text[n] != '\0');
	}
}
