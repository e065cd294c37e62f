/* SPDX-License-Identifier: MIT */
/* Tables: rows with equal labels are added, or all rows are listed with their hosts. */
#include <math.h>

#include "attar/private/report.h"
#include "base/intern.h"
#include "base/map.h"
#include "report/merge/parts.h"
#include "report/model/column_amount.h"
#include "report/model/model.h"
#include "report/model/number.h"

/* A merged number. Integers are exact while no other number is added. */
struct amount {
	bool is_set, is_real;
	uint64_t n;
	double real;
};

struct merged_row {
	const struct attar_section *section; /* has the labels, as this row: */
	uint32_t row;
	const int *columns; /* of the section; -1: it has none */
};

struct merged {
	const fleet_columns *columns;
	struct intern keys;
	struct map index; /* key -> row */
	VEC(struct merged_row) rows;
	VEC(struct amount) amounts; /* of row i: from i * columns->n on */
	VEC(double) wholes;         /* of each column: its sum over all rows of all hosts */
	VEC(int *) maps;            /* the columns of each section, for merged_row.columns */
};

static void merged_done(struct merged *m)
{
	intern_done(&m->keys);
	map_done(&m->index);
	vec_done(&m->rows);
	vec_done(&m->amounts);
	vec_done(&m->wholes);
	vec_each (&m->maps, map)
		free(*map);
	vec_done(&m->maps);
}

/* ---- rows ---- */

/* The labels of a row, each with its length, so that different labels have different texts. */
static int key_of(struct merged *m, const struct merged_row *from, uint32_t *ret_key)
{
	struct buf key _cleanup_(buf_done) = {0};

	for (size_t i = 0; i < m->columns->n; i++) {
		struct cell cell = {.kind = CELL_NONE};

		if (m->columns->at[i].rule == FLEET_KEY && from->columns[i] >= 0)
			cell = section_cell(from->section, from->row, (size_t)from->columns[i]);
		if (cell.kind == CELL_TEXT) {
			const char *text = section_text(from->section, cell.text);

			buf_printf(&key, "%zu:%s", strlen(text), text);
		} else if (cell.kind == CELL_U64 || cell.kind == CELL_I64) {
			buf_i64(&key, cell.i64);
		}
		buf_char(&key, ',');
	}
	return buf_failed(&key) ? -ENOMEM : intern_id(&m->keys, buf_text(&key), ret_key);
}

/* The amounts of the row with these labels. NULL: out of memory. */
static struct amount *amounts_of(struct merged *m, const struct merged_row *from)
{
	uint64_t *found;
	uint32_t key;

	if (key_of(m, from, &key) < 0)
		return NULL;
	found = map_get(&m->index, key);
	if (found)
		return &m->amounts.at[*found * m->columns->n];
	if (map_put(&m->index, key, m->rows.n) < 0 || vec_push(&m->rows, *from) < 0)
		return NULL;
	for (size_t i = 0; i < m->columns->n; i++)
		if (vec_push(&m->amounts, (struct amount){0}) < 0)
			return NULL;
	return &m->amounts.at[m->amounts.n - m->columns->n];
}

/* The columns of a section; to be freed. NULL: out of memory. */
static int *map_columns(const struct attar_section *s, const fleet_columns *columns)
{
	int *map = calloc(columns->n + 1, sizeof(*map));

	for (size_t i = 0; map && i < columns->n; i++)
		map[i] = fleet_column_in(s, &columns->at[i]);
	return map;
}

/* ---- numbers ---- */

static double real_of(const struct amount *a)
{
	return a->is_real ? a->real : (double)a->n;
}

static void set_real(struct amount *a, double value)
{
	*a = (struct amount){.is_set = true, .is_real = true, .real = value};
}

static void table_add(struct amount *a, struct cell cell)
{
	uint64_t sum;

	if (cell.kind == CELL_U64 && !a->is_real && !__builtin_add_overflow(a->n, cell.u64, &sum))
		*a = (struct amount){.is_set = true, .n = sum};
	else
		set_real(a, (a->is_set ? real_of(a) : 0) + number_value(cell));
}

static void take_extreme(struct amount *a, struct cell cell, bool least)
{
	double value = number_value(cell);

	if (a->is_set && (least ? value >= real_of(a) : value <= real_of(a)))
		return;
	if (cell.kind == CELL_U64)
		*a = (struct amount){.is_set = true, .n = cell.u64};
	else
		set_real(a, value);
}

/* whole: what a percentage is of, on this host */
static void add_cell(struct amount *a, enum fleet_rule rule, struct cell cell, double whole)
{
	if (!isfinite(number_value(cell)))
		return;
	if (rule == FLEET_SUM)
		table_add(a, cell);
	else if (rule == FLEET_LEAST || rule == FLEET_MOST)
		take_extreme(a, cell, rule == FLEET_LEAST);
	else if (rule == FLEET_SHARE || rule == FLEET_PART)
		set_real(a, (a->is_set ? a->real : 0) + number_value(cell) * whole);
}

/* The sum of a column on a host. */
static double whole_of(const struct attar_section *s, int column)
{
	double whole = 0;

	for (uint32_t row = 0; column >= 0 && row < s->rows; row++) {
		double value = number_value(section_cell(s, row, (size_t)column));

		whole += isfinite(value) ? value : 0;
	}
	return whole;
}

/* What the percentage in a column of the row is of; 0: it is none. */
static double basis_of(
	const struct merged_row *from, const struct fleet_column *c, const double *wholes)
{
	int column = c->rule == FLEET_PART ? from->columns[c->basis] : -1;

	if (c->rule == FLEET_SHARE)
		return wholes[c->basis];
	return column < 0 ? 0
			  : number_value(section_cell(from->section, from->row, (size_t)column));
}

static int add_row(struct merged *m, const struct merged_row *from, const double *wholes)
{
	struct amount *amounts = amounts_of(m, from);

	if (!amounts)
		return -ENOMEM;
	for (size_t i = 0; i < m->columns->n; i++) {
		const struct fleet_column *c = &m->columns->at[i];

		if (from->columns[i] >= 0)
			add_cell(&amounts[i], c->rule,
				section_cell(from->section, from->row, (size_t)from->columns[i]),
				basis_of(from, c, wholes));
	}
	return 0;
}

static int add_section(struct merged *m, const struct attar_section *s)
{
	double *wholes _cleanup_free_ = calloc(m->columns->n + 1, sizeof(*wholes));
	struct merged_row from = {.section = s};
	int *map = map_columns(s, m->columns), r = 0;

	from.columns = map;
	if (!map || vec_push(&m->maps, map) < 0) {
		free(map);
		return -ENOMEM;
	}
	if (!wholes)
		return -ENOMEM;
	for (size_t i = 0; i < m->columns->n; i++) {
		wholes[i] = whole_of(s, map[i]);
		m->wholes.at[i] += wholes[i];
	}
	for (; from.row < s->rows && r == 0; from.row++)
		r = add_row(m, &from, wholes);
	return r;
}

/* ---- the merged table ---- */

static void write_label(struct attar_section *to, const struct merged_row *from, int column)
{
	struct cell cell = column < 0 ? (struct cell){.kind = CELL_NONE}
				      : section_cell(from->section, from->row, (size_t)column);

	if (cell.kind == CELL_TEXT)
		attar_cell_text(to, section_text(from->section, cell.text));
	else
		section_fill(to, cell);
}

static void write_amount(struct attar_section *to, const struct amount *a)
{
	if (!a->is_set)
		attar_cell_none(to);
	else if (a->is_real)
		attar_cell_double(to, a->real);
	else
		attar_cell_u64(to, a->n);
}

static void write_row(struct merged *m, struct attar_section *to, size_t row)
{
	const struct amount *amounts = &m->amounts.at[row * m->columns->n];

	attar_section_row(to);
	for (size_t i = 0; i < m->columns->n; i++) {
		const struct fleet_column *c = &m->columns->at[i];
		struct amount a = amounts[i];

		if (c->rule == FLEET_LEFT_OUT)
			continue;
		if (c->rule == FLEET_KEY) {
			write_label(to, &m->rows.at[row], m->rows.at[row].columns[i]);
			continue;
		}
		if (c->rule == FLEET_SHARE && a.is_set)
			set_real(&a, m->wholes.at[c->basis] ? a.real / m->wholes.at[c->basis] : 0);
		if (c->rule == FLEET_PART && a.is_set)
			set_real(&a, real_of(&amounts[c->basis])
					     ? a.real / real_of(&amounts[c->basis])
					     : 0);
		if (c->rule == FLEET_MEAN && amounts[c->basis].n)
			set_real(&a, real_of(&amounts[c->total]) / (double)amounts[c->basis].n);
		write_amount(to, &a);
	}
}

/* Whether the rows of all hosts are in the order of a column. */
static bool is_ordered(const fleet_sections *all, const struct fleet_column *c, bool descending)
{
	bool changes = false;

	vec_each (all, it) {
		int column = fleet_column_in(it->section, c);

		for (uint32_t row = 1; column >= 0 && row < it->section->rows; row++) {
			double a = number_value(section_cell(it->section, row - 1, (size_t)column));
			double b = number_value(section_cell(it->section, row, (size_t)column));

			if (descending ? a < b : a > b)
				return false;
			changes |= a != b;
		}
	}
	return changes;
}

static bool is_amount(const struct attar_section *s, size_t column)
{
	const struct column *c = &s->columns.at[column];

	return column_role_of(section_text(s, c->name), c->unit) == COLUMN_AMOUNT;
}

/*
 * In the order of the hosts' tables: by the first amount that falls, or identifier that rises. Rows
 * that are equal in it are sorted by the amounts after it. Other tables keep the first host's
 * order.
 */
static void sort(const fleet_sections *all, const fleet_columns *columns, struct attar_section *to)
{
	const struct fleet_column *c = columns->at;
	size_t column = 0, first = 0;

	for (; c < columns->at + columns->n; c++) {
		if (c->rule == FLEET_LEFT_OUT)
			continue;
		if (c->unit != ATTAR_UNIT_TEXT && is_ordered(all, c, c->rule != FLEET_KEY))
			break;
		first++;
	}
	if (first == to->columns.n)
		return;
	for (column = to->columns.n; column-- > first + 1;)
		if (is_amount(to, column))
			section_sort(to, column, true);
	section_sort(to, first, c->rule != FLEET_KEY);
}

static bool has_values(const fleet_sections *all, const struct fleet_column *c)
{
	vec_each (all, it) {
		int column = fleet_column_in(it->section, c);

		for (uint32_t row = 0; column >= 0 && row < it->section->rows; row++) {
			struct cell cell = section_cell(it->section, row, (size_t)column);

			if (cell.kind != CELL_NONE && !(cell.kind == CELL_TEXT && !cell.text))
				return true;
		}
	}
	return false;
}

static void remark_left_out(
	const fleet_sections *all, const fleet_columns *columns, struct attar_section *to)
{
	struct buf names _cleanup_(buf_done) = {0};

	vec_each (columns, c)
		if (c->rule == FLEET_LEFT_OUT && has_values(all, c))
			buf_printf(&names, "%s%s", names.len ? ", " : "", c->name);
	if (names.len)
		attar_report_remark(to->report,
			"%s: columns that cannot be merged are left out: %s; --by-host shows them",
			section_text(to, to->name), buf_text(&names));
}

int fleet_merge_table(
	const fleet_sections *all, const fleet_columns *columns, struct attar_report *out)
{
	struct merged m _cleanup_(merged_done) = {.columns = columns};
	const struct attar_section *like = all->at[0].section;
	struct attar_section *to;
	int r = 0;

	for (size_t i = 0; i < columns->n && r == 0; i++)
		r = vec_push(&m.wholes, 0);
	vec_each (all, it)
		if (r == 0)
			r = add_section(&m, it->section);
	if (r < 0)
		return r;
	to = attar_report_table(out, section_text(like, like->name));
	vec_each (columns, c)
		if (c->rule != FLEET_LEFT_OUT)
			attar_section_column(to, c->name, c->unit);
	for (size_t row = 0; row < m.rows.n; row++)
		write_row(&m, to, row);
	sort(all, columns, to);
	remark_left_out(all, columns, to);
	return 0;
}

/* ---- rows with their hosts ---- */

/* Times are shown in the clock of one host. */
static void list_cell(struct attar_section *to, const struct merged_row *from, size_t i,
	enum attar_unit unit, int64_t offset)
{
	struct cell cell = {.kind = CELL_NONE};

	if (unit == ATTAR_UNIT_TIME && from->columns[i] >= 0)
		cell = section_cell(from->section, from->row, (size_t)from->columns[i]);
	if (cell.kind == CELL_U64)
		attar_cell_u64(to, cell.u64 - (uint64_t)offset);
	else
		write_label(to, from, from->columns[i]);
}

static int list_section(
	struct attar_section *to, const struct fleet_section *all, const fleet_columns *columns)
{
	int *map _cleanup_free_ = map_columns(all->section, columns);
	struct merged_row from = {all->section, 0, map};
	size_t detail = 0;

	for (; map && from.row < all->section->rows; from.row++) {
		attar_section_row(to);
		attar_cell_text(to, all->host);
		for (size_t i = 0; i < columns->n; i++)
			list_cell(to, &from, i, columns->at[i].unit, all->offset);
		for (; section_has_detail(all->section, from.row, detail); detail++)
			attar_row_detail(to, section_detail(all->section, detail));
	}
	return map ? 0 : -ENOMEM;
}

static void sort_by_time(struct attar_section *to)
{
	for (size_t i = 0; i < to->columns.n; i++)
		if (to->columns.at[i].unit == ATTAR_UNIT_TIME) {
			section_sort(to, i, false);
			return;
		}
}

/* The second is a column of the host itself, which cannot take the place of the first. */
#define HOST_COLUMN  "host"
#define THEIR_COLUMN "reported host"

int fleet_list_rows(
	const fleet_sections *all, const fleet_columns *columns, struct attar_report *out)
{
	const struct attar_section *like = all->at[0].section;
	struct attar_section *to =
		report_add_section(out, like->kind, section_text(like, like->name));
	int r = 0;

	attar_section_column(to, HOST_COLUMN, ATTAR_UNIT_TEXT);
	vec_each (columns, c)
		attar_section_column(
			to, strcmp(c->name, HOST_COLUMN) != 0 ? c->name : THEIR_COLUMN, c->unit);
	vec_each (all, it)
		if (r == 0)
			r = list_section(to, it, columns);
	if (like->kind == ATTAR_SECTION_EVENTS)
		sort_by_time(to);
	return r;
}
