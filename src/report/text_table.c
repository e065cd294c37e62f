/* SPDX-License-Identifier: MIT */
/* Rows of cells as text: tables, event lines, histograms. */
#include "report/text.h"

#include "base/escape.h"
#include "report/layout.h"
#include "report/number.h"
#include "report/width.h"

/* A section being drawn. */
struct grid {
	struct attar_renderer *r;
	const struct attar_section *s;
	VEC(struct layout_column) columns;
	struct buf cell; /* the text of one cell */
};

static void grid_done(struct grid *g)
{
	g->r->out.failed |= g->cell.failed;
	vec_done(&g->columns);
	buf_done(&g->cell);
}

static const char *cell_text(struct grid *g, uint32_t row, size_t column)
{
	struct cell cell = section_cell(g->s, row, column);
	enum attar_unit unit = g->s->columns.at[column].unit;

	buf_reset(&g->cell);
	if (cell.kind == CELL_TEXT) {
		const char *text = section_text(g->s, cell.text);

		escape_text(&g->cell, text, strlen(text));
	} else if (unit != ATTAR_UNIT_TEXT || cell.kind != CELL_NONE) {
		number_cell(&g->cell, unit, cell);
	}
	return buf_text(&g->cell);
}

static const char *column_name(struct grid *g, size_t column)
{
	const char *name = section_text(g->s, g->s->columns.at[column].name);

	buf_reset(&g->cell);
	escape_text(&g->cell, name, strlen(name));
	return buf_text(&g->cell);
}

static uint32_t rows_shown(const struct attar_renderer *r, const struct attar_section *s)
{
	unsigned most = r->opts.max_rows;

	return s->kind == ATTAR_SECTION_TABLE && most && s->rows > most ? most : s->rows;
}

/* Determines the widest shown cell of each column. */
static int grid_init(struct grid *g)
{
	const struct attar_section *s = g->s;

	for (size_t i = 0; i < s->columns.n; i++) {
		struct layout_column *column = vec_add(&g->columns);

		if (!column)
			return base_oom();
		column->text = s->columns.at[i].unit == ATTAR_UNIT_TEXT;
		column->wish = width_of(column_name(g, i));
		for (uint32_t row = 0; row < rows_shown(g->r, s); row++)
			column->wish = MAX(column->wish, width_of(cell_text(g, row, i)));
	}
	return 0;
}

/* True for the last shown column, which has no trailing spaces. */
static bool is_last(const struct grid *g, size_t column)
{
	for (size_t i = column + 1; i < g->columns.n; i++)
		if (!g->columns.at[i].hidden)
			return false;
	return true;
}

static enum text_style cell_style(const struct grid *g, uint32_t row, size_t column)
{
	struct cell cell = section_cell(g->s, row, column);

	if (g->s->columns.at[column].unit == ATTAR_UNIT_PERCENT && cell.kind == CELL_DOUBLE)
		return text_heat(cell.real);
	return TEXT_PLAIN;
}

/* row UINT32_MAX: the column names. Does not end the line; returns the width used. */
static unsigned draw_cells(struct attar_renderer *r, struct grid *g, uint32_t row)
{
	unsigned used = 0;
	bool names = row == UINT32_MAX;

	for (size_t i = 0; i < g->columns.n; i++) {
		const struct layout_column *column = &g->columns.at[i];
		struct text_field field = {
			.width = column->width,
			.right = !column->text,
			.last = is_last(g, i),
			.style = names ? TEXT_HEADING : cell_style(g, row, i),
		};

		if (column->hidden)
			continue;
		if (i)
			text_add(r, &used, TEXT_PLAIN, "  ");
		text_add_field(r, &used, &field, names ? column_name(g, i) : cell_text(g, row, i));
	}
	return used;
}

/* Returns the index of the next row's first detail line. */
static size_t draw_details(struct attar_renderer *r, struct grid *g, uint32_t row, size_t at)
{
	for (; section_has_detail(g->s, row, at); at++) {
		const char *line = section_text(g->s, g->s->details.at[at].text);
		unsigned used = 0;

		buf_reset(&g->cell);
		escape_text(&g->cell, line, strlen(line));
		text_add(r, &used, TEXT_PLAIN, "        ");
		text_add(r, &used, TEXT_PLAIN, buf_text(&g->cell));
		buf_char(&r->out, '\n');
	}
	return at;
}

static void draw_rows(struct attar_renderer *r, struct grid *g)
{
	uint32_t n = rows_shown(r, g->s);
	size_t detail = 0;

	for (uint32_t row = 0; row < n; row++) {
		draw_cells(r, g, row);
		buf_char(&r->out, '\n');
		detail = draw_details(r, g, row, detail);
		render_spill(r);
	}
}

/* A line with a number and a text, such as "(3 more rows)". */
static void draw_count(struct attar_renderer *r, size_t n, const char *one, const char *many)
{
	struct buf line _cleanup_(buf_done) = {0};
	unsigned used = 0;

	buf_char(&line, '(');
	number_grouped(&line, n);
	buf_printf(&line, " %s)", n == 1 ? one : many);
	text_add(r, &used, TEXT_DIM, buf_text(&line));
	buf_char(&r->out, '\n');
	r->out.failed |= line.failed;
}

static void draw_empty(struct attar_renderer *r)
{
	unsigned used = 0;

	text_add(r, &used, TEXT_DIM, "(nothing)");
	buf_char(&r->out, '\n');
}

void text_table(struct attar_renderer *r, const struct attar_section *s)
{
	struct grid g _cleanup_(grid_done) = {.r = r, .s = s};
	size_t hidden;

	text_heading(r, section_text(s, s->name), "");
	if (!s->rows) {
		draw_empty(r);
		return;
	}
	r->out.failed |= grid_init(&g) < 0;
	hidden = layout_fit(g.columns.at, g.columns.n, r->opts.columns);
	draw_cells(r, &g, UINT32_MAX);
	buf_char(&r->out, '\n');
	draw_rows(r, &g);
	if (s->rows > rows_shown(r, s))
		draw_count(r, s->rows - rows_shown(r, s), "more row", "more rows");
	if (hidden)
		draw_count(r, hidden, "column hidden", "columns hidden");
}

/* True if event lines have the same columns as before: no new heading; columns only get wider. */
static bool continues(struct attar_renderer *r, struct grid *g)
{
	struct buf shape _cleanup_(buf_done) = {0};
	bool same;

	buf_str(&shape, section_text(g->s, g->s->name));
	for (size_t i = 0; i < g->columns.n; i++)
		buf_printf(&shape, "\n%s", section_text(g->s, g->s->columns.at[i].name));
	same = strcmp(buf_text(&shape), buf_text(&r->open)) == 0;
	for (size_t i = 0; same && i < r->widths.n; i++)
		g->columns.at[i].wish = MAX(g->columns.at[i].wish, r->widths.at[i]);
	r->widths.n = 0;
	for (size_t i = 0; i < g->columns.n; i++)
		r->out.failed |= vec_push(&r->widths, g->columns.at[i].wish) < 0;
	buf_reset(&r->open);
	buf_str(&r->open, buf_text(&shape));
	r->out.failed |= shape.failed;
	return same;
}

void text_events(struct attar_renderer *r, const struct attar_section *s)
{
	struct grid g _cleanup_(grid_done) = {.r = r, .s = s};
	bool same;

	if (!s->rows)
		return;
	r->out.failed |= grid_init(&g) < 0;
	same = continues(r, &g);
	layout_fit(g.columns.at, g.columns.n, r->opts.columns);
	if (!same) {
		draw_cells(r, &g, UINT32_MAX);
		buf_char(&r->out, '\n');
	}
	draw_rows(r, &g);
}

/* A bar in the rest of the line; at least one character unless the bucket is empty. */
static void draw_bar(struct attar_renderer *r, unsigned used, uint64_t count, uint64_t most)
{
	unsigned room = r->opts.columns
				? (r->opts.columns > used + 2 ? r->opts.columns - used - 2 : 0)
				: 50;
	unsigned n = (unsigned)((double)MIN(room, 50u) * (double)count / (double)most + 0.5);

	if (!count || !room)
		return;
	text_add(r, &used, TEXT_PLAIN, "  ");
	for (n = MAX(n, 1u); n--;)
		buf_char(&r->out, '#');
}

void text_histogram(struct attar_renderer *r, const struct attar_section *s)
{
	struct grid g _cleanup_(grid_done) = {.r = r, .s = s};
	uint64_t most = 1;

	text_heading(r, section_text(s, s->name), "");
	if (!s->rows) {
		draw_empty(r);
		return;
	}
	r->out.failed |= grid_init(&g) < 0;
	layout_fit(g.columns.at, g.columns.n, r->opts.columns);
	for (uint32_t row = 0; row < s->rows; row++)
		most = MAX(most, section_cell(s, row, 2).u64);
	draw_cells(r, &g, UINT32_MAX);
	buf_char(&r->out, '\n');
	for (uint32_t row = 0; row < s->rows; row++) {
		draw_bar(r, draw_cells(r, &g, row), section_cell(s, row, 2).u64, most);
		buf_char(&r->out, '\n');
		render_spill(r);
	}
}
