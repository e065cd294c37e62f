/* SPDX-License-Identifier: MIT */
/* Rows of cells as text: tables, time series, event lines. */
#include "report/sinks/text/text.h"

#include "base/escape.h"
#include "report/sinks/layout.h"
#include "report/model/number.h"
#include "report/model/shorten.h"
#include "report/model/width.h"

enum { NAME_LEAST = 8 /* columns of the shortened name of a number */ };

/* A section being drawn. */
struct grid {
	struct attar_renderer *r;
	const struct attar_section *s;
	VEC(struct layout_column) columns;
	VEC(struct shorten) shorten; /* by column */
	struct number_scale *scales; /* the same; NULL: each cell has its own unit */
	struct buf cell;             /* the text of one cell */
};

static void grid_done(struct grid *g)
{
	g->r->out.failed |= g->cell.failed;
	vec_done(&g->columns);
	vec_done(&g->shorten);
	free(g->scales);
	buf_done(&g->cell);
}

static bool has_scale(const struct grid *g, size_t column)
{
	return g->scales && g->scales[column].name &&
	       g->s->columns.at[column].unit == ATTAR_UNIT_NS;
}

static const char *cell_text(struct grid *g, uint32_t row, size_t column)
{
	struct cell cell = section_cell(g->s, row, column);
	enum attar_unit unit = g->s->columns.at[column].unit;

	buf_reset(&g->cell);
	if (cell.kind == CELL_TEXT) {
		const char *text = section_text(g->s, cell.text);

		escape_text(&g->cell, text, strlen(text));
	} else if (has_scale(g, column)) {
		number_in_scale(&g->cell, &g->scales[column], cell);
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
	if (has_scale(g, column))
		buf_printf(&g->cell, " (%s)", g->scales[column].name);
	return buf_text(&g->cell);
}

enum { ROWS_LEAST = 10 };

static const double share_least = 0.5; /* percent */

/* Whether a column is the share of a row in a whole. */
static bool is_share(const struct attar_section *s, size_t column)
{
	static const char *const names[] = {"share", "self", "total"};
	const char *name = section_text(s, s->columns.at[column].name);

	if (s->columns.at[column].unit != ATTAR_UNIT_PERCENT)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool is_small(const struct attar_section *s, uint32_t row)
{
	bool has_share = false;

	for (size_t i = 0; i < s->columns.n; i++) {
		const struct cell cell = section_cell(s, row, i);

		if (!is_share(s, i))
			continue;
		if (cell.kind != CELL_DOUBLE || cell.real >= share_least)
			return false;
		has_share = true;
	}
	return has_share;
}

/* With a maximum, the last rows are left out if each is less than half a percent of the whole. */
static uint32_t rows_shown(const struct attar_renderer *r, const struct attar_section *s)
{
	unsigned most = r->opts.max_rows;
	uint32_t n = s->kind != ATTAR_SECTION_EVENTS && most && s->rows > most ? most : s->rows;

	if (s->kind == ATTAR_SECTION_TABLE && most)
		while (n > ROWS_LEAST && is_small(s, n - 1))
			n--;
	return n;
}

/* A table shows its first rows, a time series its newest ones. */
static uint32_t first_row(const struct attar_renderer *r, const struct attar_section *s)
{
	return s->kind == ATTAR_SECTION_TIME_SERIES ? s->rows - rows_shown(r, s) : 0;
}

/* Whether a text column is about the number beside it, and does not name the row. */
static bool describes_number(const struct attar_section *s, size_t column)
{
	const char *name = section_text(s, s->columns.at[column].name);
	static const char *const names[] = {"unit", "meaning", "quality", "limit", "mostly"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* "97 %" */
static bool is_number_as_text(const struct attar_section *s, size_t column)
{
	return s->columns.at[column].unit == ATTAR_UNIT_TEXT && column &&
	       !strcmp(section_text(s, s->columns.at[column].name), "value");
}

/* A size and "holder share" are about what the row is; a total says more than its count. */
static bool is_minor(const struct attar_section *s, size_t column)
{
	const char *name = section_text(s, s->columns.at[column].name), *share;

	share = strstr(name, " share");
	if ((share && !strcmp(share, " share")) || (column && !strcmp(name, "size")))
		return true;
	return !strcmp(name, "count") && column + 1 < s->columns.n &&
	       !strcmp(section_text(s, s->columns.at[column + 1].name), "total");
}

static bool is_number(enum attar_unit unit)
{
	return unit != ATTAR_UNIT_TEXT && unit != ATTAR_UNIT_ID && unit != ATTAR_UNIT_TIME &&
	       unit != ATTAR_UNIT_CLOCK && unit != ATTAR_UNIT_HEX;
}

/* Determines the widest shown cell of each column. */
static int grid_init(struct grid *g)
{
	const struct attar_section *s = g->s;
	uint32_t first = first_row(g->r, s), end = first + rows_shown(g->r, s);

	if (s->kind != ATTAR_SECTION_EVENTS) {
		g->scales = calloc(s->columns.n + 1, sizeof(*g->scales));
		if (!g->scales)
			return base_oom();
		number_scales(g->scales, s, first, end - first, g->r->opts.exact);
	}
	for (size_t i = 0; i < s->columns.n; i++) {
		struct layout_column *column = vec_add(&g->columns);
		unsigned name, least;

		if (!column)
			return base_oom();
		column->text = s->columns.at[i].unit == ATTAR_UNIT_TEXT;
		column->grows = s->kind == ATTAR_SECTION_EVENTS;
		column->keep = column->text && column->grows;
		column->main = column->grows && s->columns.at[i].is_main;
		column->describes = column->text && !column->grows && describes_number(s, i);
		column->number = !column->grows && !is_minor(s, i) &&
				 (is_number(s->columns.at[i].unit) || is_number_as_text(s, i));
		for (uint32_t row = first; row < end; row++)
			column->wish = MAX(column->wish, width_of(cell_text(g, row, i)));
		name = width_of(column_name(g, i));
		least = MAX(column->wish, (unsigned)NAME_LEAST);
		if (column->number && name > least)
			column->head = name - least;
		column->wish = MAX(column->wish, name);
	}
	return 0;
}

/* A column and its rows, for shorten_choose(). */
struct column_texts {
	struct grid *g;
	size_t column;
	uint32_t first;
};

static const char *text_of_row(void *ctx, size_t i)
{
	const struct column_texts *of = ctx;

	return cell_text(of->g, of->first + (uint32_t)i, of->column);
}

/*
 * Lines of events are drawn in batches of any size, and must not differ from batch to batch: names
 * of events lose their beginnings, and the last text, which is the text of the fields, its end.
 */
static struct shorten how_to_shorten(struct grid *g, size_t column, bool last)
{
	struct column_texts of = {.g = g, .column = column, .first = first_row(g->r, g->s)};

	if (g->s->kind == ATTAR_SECTION_EVENTS)
		return (struct shorten){.how = last ? SHORTEN_END : SHORTEN_START};
	return shorten_choose(
		text_of_row, &of, rows_shown(g->r, g->s), g->columns.at[column].width);
}

/* Determines how the texts of columns that are too narrow are shortened. */
static void grid_shorten(struct grid *g)
{
	for (size_t i = 0; i < g->columns.n; i++) {
		const struct layout_column *column = &g->columns.at[i];
		struct shorten how = {0};

		if (g->r->opts.columns && !column->hidden && column->width < column->wish)
			how = how_to_shorten(g, i, i + 1 == g->columns.n);
		g->r->out.failed |= vec_push(&g->shorten, how) < 0;
	}
}

/* Fits the columns into the width limit. Returns the number of hidden columns. */
static size_t grid_fit(struct grid *g)
{
	size_t hidden = layout_fit(g->columns.at, g->columns.n, g->r->opts.columns);

	grid_shorten(g);
	return hidden;
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

/* Names of columns keep their unit, as "(us)", and names of events their end. */
static const struct shorten *how_to_shorten_name(const char *name)
{
	static const struct shorten how[] = {
		{.how = SHORTEN_END}, {.how = SHORTEN_START}, {.how = SHORTEN_MIDDLE}};
	size_t len = strlen(name);

	return &how[len && name[len - 1] == ')' ? 2 : strchr(name, ':') ? 1 : 0];
}

/* row UINT32_MAX: the column names. Does not end the line; returns the width used. */
static unsigned draw_cells(struct attar_renderer *r, struct grid *g, uint32_t row)
{
	unsigned used = 0;
	bool names = row == UINT32_MAX;

	for (size_t i = 0; i < g->columns.n; i++) {
		const struct layout_column *column = &g->columns.at[i];
		const char *text;
		struct text_field field = {
			.width = column->width,
			.right = !column->text,
			.last = is_last(g, i),
			.style = names ? TEXT_HEADING : cell_style(g, row, i),
		};

		if (column->hidden)
			continue;
		if (used)
			text_add(r, &used, TEXT_PLAIN, "  ");
		text = names ? column_name(g, i) : cell_text(g, row, i);
		if (names)
			field.shorten = how_to_shorten_name(text);
		else if (i < g->shorten.n)
			field.shorten = &g->shorten.at[i];
		text_add_field(r, &used, &field, text);
	}
	return used;
}

/* A command to be pasted, which a line feed would end: the terminal wraps it. */
static bool is_command(const char *line)
{
	return !strncmp(line, "next", 4) || !strncmp(line, "then: ", 6);
}

static void draw_detail(struct attar_renderer *r, const char *line)
{
	static const char indent[] = "        ";

	if (!is_command(line)) {
		text_wrap_indented(r, TEXT_PLAIN, indent, line);
		return;
	}
	buf_str(&r->out, indent);
	escape_text(&r->out, line, strlen(line));
	buf_char(&r->out, '\n');
}

/* Returns the index of the next row's first detail line. */
static size_t draw_details(struct attar_renderer *r, struct grid *g, uint32_t row, size_t at)
{
	for (; section_has_detail(g->s, row, at); at++)
		draw_detail(r, section_text(g->s, g->s->details.at[at].text));
	return at;
}

static size_t lines_since(const struct attar_renderer *r, size_t at)
{
	size_t lines = 0;

	for (; at < r->out.len; at++)
		lines += r->out.data[at] == '\n';
	return lines;
}

/* Returns the number of rows that are drawn. */
static uint32_t draw_rows(struct attar_renderer *r, struct grid *g)
{
	uint32_t first = first_row(r, g->s), end = first + rows_shown(r, g->s);
	size_t detail = first ? section_first_detail(g->s, first) : 0, lines = 0;

	for (uint32_t row = first; row < end; row++) {
		size_t before = r->out.len;

		draw_cells(r, g, row);
		buf_char(&r->out, '\n');
		detail = draw_details(r, g, row, detail);
		lines += lines_since(r, before);
		if (g->s->max_lines && lines > g->s->max_lines && row > first) {
			r->out.len = before;
			return row - first;
		}
		render_spill(r);
	}
	return end - first;
}

static const char *rows_hint(const struct attar_renderer *r, const struct attar_section *s)
{
	return s->max_lines ? section_text(s, s->hint) : r->opts.redraw ? NULL : r->rows_hint;
}

/* A line with a number and a text, such as "(3 more rows)". */
static void draw_count(
	struct attar_renderer *r, size_t n, const char *one, const char *many, const char *hint)
{
	struct buf line _cleanup_(buf_done) = {0};
	unsigned used = 0;

	buf_char(&line, '(');
	buf_grouped(&line, n);
	buf_printf(&line, " %s%s%s)", n == 1 ? one : many, hint ? ": " : "", hint ?: "");
	text_add(r, &used, TEXT_DIM, buf_text(&line));
	buf_char(&r->out, '\n');
	r->out.failed |= line.failed;
}

void text_nothing(struct attar_renderer *r)
{
	unsigned used = 0;

	text_add(r, &used, TEXT_DIM, "(nothing)");
	buf_char(&r->out, '\n');
}

void text_table(struct attar_renderer *r, const struct attar_section *s)
{
	struct grid g _cleanup_(grid_done) = {.r = r, .s = s};
	size_t hidden;
	uint32_t drawn;

	text_heading(r, section_text(s, s->name), "");
	if (!s->rows) {
		text_nothing(r);
		return;
	}
	r->out.failed |= grid_init(&g) < 0;
	hidden = grid_fit(&g);
	if (first_row(r, s))
		draw_count(r, first_row(r, s), "earlier point", "earlier points", NULL);
	draw_cells(r, &g, UINT32_MAX);
	buf_char(&r->out, '\n');
	drawn = draw_rows(r, &g);
	if (first_row(r, s) + drawn < s->rows)
		draw_count(r, s->rows - drawn, "more row", "more rows", rows_hint(r, s));
	if (hidden)
		draw_count(r, hidden, "column hidden", "columns hidden", NULL);
}

/* "(2 columns hidden: tid, cpu)" */
static void draw_hidden(struct grid *g, size_t n)
{
	struct buf line _cleanup_(buf_done) = {0};
	const char *before = ": ";

	buf_printf(&line, "(%zu %s hidden", n, n == 1 ? "column" : "columns");
	for (size_t i = 0; i < g->columns.n; i++) {
		if (!g->columns.at[i].hidden)
			continue;
		buf_printf(&line, "%s%s", before, section_text(g->s, g->s->columns.at[i].name));
		before = ", ";
	}
	buf_char(&line, ')');
	text_wrap(g->r, TEXT_DIM, buf_text(&line));
	g->r->out.failed |= line.failed;
}

/* The first lines: chooses the columns that they and all later ones show, and draws the heading. */
static void begin_events(struct grid *g)
{
	struct attar_renderer *r = g->r;
	size_t hidden;

	text_keep_widths(r, g->s, g->columns.at, g->columns.n);
	hidden = grid_fit(g);
	r->hidden.n = 0;
	for (size_t i = 0; i < g->columns.n; i++)
		r->out.failed |= vec_push(&r->hidden, g->columns.at[i].hidden) < 0;
	if (hidden)
		draw_hidden(g, hidden);
	draw_cells(r, g, UINT32_MAX);
	buf_char(&r->out, '\n');
}

/* Later lines: a value that is wider than the values of the first lines must not be cut. */
static void continue_events(struct grid *g)
{
	struct attar_renderer *r = g->r;

	for (size_t i = 0; i < g->columns.n; i++) {
		g->columns.at[i].wish = MAX(g->columns.at[i].wish, r->widths.at[i]);
		g->columns.at[i].hidden = i < r->hidden.n && r->hidden.at[i];
	}
	if (r->opts.columns) {
		layout_fit_shown(g->columns.at, g->columns.n, r->opts.columns);
		grid_shorten(g);
	} else {
		grid_fit(g);
	}
}

void text_fitted_events(struct attar_renderer *r, const struct attar_section *s)
{
	struct grid g _cleanup_(grid_done) = {.r = r, .s = s};

	r->out.failed |= grid_init(&g) < 0;
	if (r->out.failed)
		return;
	if (text_continues(r, s))
		continue_events(&g);
	else
		begin_events(&g);
	draw_rows(r, &g);
}
