/* SPDX-License-Identifier: MIT */
/*
 * Event lines as text. Without a limit on their width and without styles, a line is written
 * directly into the output: the widths of the columns are known without formatting the last one,
 * which is the longest.
 */
#include "report/text.h"

#include "base/digits.h"
#include "base/escape.h"
#include "report/fields.h"
#include "report/layout.h"
#include "report/number.h"
#include "report/width.h"

enum { GAP = 2 /* spaces between columns */ };

/* The text last drawn in a column: it is often the same in the next line. */
struct recent {
	uint32_t id;   /* of the text in the report; 0: none */
	bool is_plain; /* need not be escaped */
	unsigned width;
	const char *text;
	size_t len;
};

struct lines {
	struct attar_renderer *r;
	const struct attar_section *s;
	VEC(struct layout_column) columns;
	VEC(struct recent) recent; /* by column */
	struct buf scratch;
};

static void lines_done(struct lines *l)
{
	l->r->out.failed |= l->scratch.failed;
	vec_done(&l->columns);
	vec_done(&l->recent);
	buf_done(&l->scratch);
}

bool text_continues(struct attar_renderer *r, const struct attar_section *s,
	struct layout_column *columns, size_t n)
{
	struct buf shape _cleanup_(buf_done) = {0};
	bool same;

	buf_str(&shape, section_text(s, s->name));
	for (size_t i = 0; i < n; i++)
		buf_printf(&shape, "\n%s", section_text(s, s->columns.at[i].name));
	same = strcmp(buf_text(&shape), buf_text(&r->open)) == 0;
	for (size_t i = 0; same && i < r->widths.n; i++)
		columns[i].wish = MAX(columns[i].wish, r->widths.at[i]);
	r->widths.n = 0;
	for (size_t i = 0; i < n; i++)
		r->out.failed |= vec_push(&r->widths, columns[i].wish) < 0;
	buf_reset(&r->open);
	buf_str(&r->open, buf_text(&shape));
	r->out.failed |= shape.failed;
	return same;
}

/* ---- cells ---- */

static unsigned escaped_width(struct lines *l, const char *text, size_t len)
{
	buf_reset(&l->scratch);
	escape_text(&l->scratch, text, len);
	return width_of(buf_text(&l->scratch));
}

static const struct recent *text_of(struct lines *l, size_t column, uint32_t id)
{
	struct recent *recent = &l->recent.at[column];

	if (likely(recent->id == id && recent->text))
		return recent;
	recent->id = id;
	recent->text = section_text(l->s, id);
	recent->len = strlen(recent->text);
	recent->is_plain = escape_plain(recent->text, recent->len) == recent->len;
	recent->width = recent->is_plain ? (unsigned)recent->len
					 : escaped_width(l, recent->text, recent->len);
	return recent;
}

/* Appends a cell of text. Returns its width. */
static unsigned add_text(struct lines *l, struct buf *b, size_t column, uint32_t id)
{
	const struct recent *text = text_of(l, column, id);

	if (text->is_plain)
		buf_add(b, text->text, text->len);
	else
		escape_text(b, text->text, text->len);
	return text->width;
}

static void add_fields(struct lines *l, struct buf *b, struct cell cell)
{
	struct fields fields = section_fields(l->s, cell);
	char text[FIELDS_TEXT_MAX];

	escape_text(b, text, fields_text(&fields, text));
}

static void add_other(struct lines *l, struct buf *b, size_t column, struct cell cell)
{
	enum attar_unit unit = l->s->columns.at[column].unit;

	if (cell.kind == CELL_FIELDS)
		add_fields(l, b, cell);
	else if (cell.kind == CELL_U64 && unit == ATTAR_UNIT_TIME)
		number_add_clock(b, &l->r->seconds, cell.u64);
	else if (cell.kind == CELL_U64 && unit == ATTAR_UNIT_ID)
		buf_u64(b, cell.u64);
	else if (unit != ATTAR_UNIT_TEXT || cell.kind != CELL_NONE)
		number_cell(b, unit, cell);
}

static unsigned width_in(struct lines *l, size_t column, struct cell cell)
{
	enum attar_unit unit = l->s->columns.at[column].unit;

	if (cell.kind == CELL_TEXT)
		return text_of(l, column, cell.text)->width;
	if (cell.kind == CELL_U64 && unit == ATTAR_UNIT_TIME)
		return NUMBER_CLOCK_WIDTH;
	if (cell.kind == CELL_U64 && unit == ATTAR_UNIT_ID)
		return digits_of(cell.u64);
	buf_reset(&l->scratch);
	add_other(l, &l->scratch, column, cell);
	return width_of(buf_text(&l->scratch));
}

/* ---- lines ---- */

static bool is_last(const struct lines *l, size_t column)
{
	return column + 1 == l->columns.n;
}

/* The widest cell of a column. */
static unsigned measure_column(struct lines *l, size_t column)
{
	bool is_id = l->s->columns.at[column].unit == ATTAR_UNIT_ID;
	struct cell above = {CELL_NONE};
	unsigned widest = 0;
	uint64_t largest = 0;

	for (uint32_t row = 0; row < l->s->rows; row++) {
		struct cell cell = section_cell(l->s, row, column);

		if (cell.kind == above.kind && cell.bits == above.bits)
			continue;
		above = cell;
		if (is_id && cell.kind == CELL_U64)
			largest = MAX(largest, cell.u64);
		else
			widest = MAX(widest, width_in(l, column, cell));
	}
	return is_id ? MAX(widest, digits_of(largest)) : widest;
}

/* Determines the widest cell of each column that is padded. */
static int measure(struct lines *l)
{
	const struct attar_section *s = l->s;

	for (size_t i = 0; i < s->columns.n; i++) {
		struct layout_column *column = vec_add(&l->columns);

		if (!column || !vec_add(&l->recent))
			return base_oom();
		column->text = s->columns.at[i].unit == ATTAR_UNIT_TEXT;
		column->wish = text_of(l, i, s->columns.at[i].name)->width;
	}
	for (size_t i = 0; i < s->columns.n; i++)
		if (!is_last(l, i) || !l->columns.at[i].text)
			l->columns.at[i].wish = MAX(l->columns.at[i].wish, measure_column(l, i));
	return 0;
}

static inline void add_spaces(struct buf *b, unsigned n)
{
	enum { FEW = 16 };

	if (!buf_reserve(b, MAX(n, (unsigned)FEW)))
		return;
	memset(b->data + b->len, ' ', FEW); /* without a call */
	if (unlikely(n > FEW))
		memset(b->data + b->len, ' ', n);
	b->len += n;
	b->data[b->len] = '\0';
}

/* An identifier, aligned to the right. */
static void add_id(struct buf *b, unsigned wanted, uint64_t id)
{
	unsigned width = digits_of(id);

	add_spaces(b, wanted > width ? wanted - width : 0);
	buf_u64(b, id);
}

/* Any cell but text. Returns its width if spaces follow it. */
static unsigned add_aligned(struct lines *l, size_t column, struct cell cell)
{
	unsigned wanted = l->columns.at[column].width, width = 0;
	struct buf *b = &l->r->out;
	bool right = !l->columns.at[column].text;

	if (right && cell.kind == CELL_U64 && l->s->columns.at[column].unit == ATTAR_UNIT_ID) {
		add_id(b, wanted, cell.u64);
		return wanted;
	}
	if (right && (width = width_in(l, column, cell)) < wanted)
		add_spaces(b, wanted - width);
	if (is_last(l, column) || right)
		add_other(l, b, column, cell);
	else if ((width = width_in(l, column, cell)) > 0)
		buf_add(b, l->scratch.data, l->scratch.len);
	return right ? wanted : width;
}

static void add_cell(struct lines *l, size_t column, struct cell cell)
{
	unsigned wanted = l->columns.at[column].width, width;
	struct buf *b = &l->r->out;

	if (cell.kind != CELL_TEXT) {
		width = add_aligned(l, column, cell);
	} else if (l->columns.at[column].text) {
		width = add_text(l, b, column, cell.text);
	} else { /* the name of the column, aligned as its numbers */
		width = text_of(l, column, cell.text)->width;
		add_spaces(b, width < wanted ? wanted - width : 0);
		add_text(l, b, column, cell.text);
		width = wanted;
	}
	if (!is_last(l, column))
		add_spaces(b, GAP + (width < wanted ? wanted - width : 0));
}

static void add_heading(struct lines *l)
{
	for (size_t i = 0; i < l->columns.n; i++)
		add_cell(l, i, (struct cell){CELL_TEXT, .text = l->s->columns.at[i].name});
	buf_char(&l->r->out, '\n');
}

/* Returns the index of the next row's first detail line. */
static size_t add_details(struct lines *l, uint32_t row, size_t at)
{
	struct buf *b = &l->r->out;

	for (; section_has_detail(l->s, row, at); at++) {
		const char *line = section_text(l->s, l->s->details.at[at].text);

		add_spaces(b, 8);
		escape_text(b, line, strlen(line));
		buf_char(b, '\n');
	}
	return at;
}

static void add_lines(struct lines *l)
{
	size_t detail = 0;

	for (uint32_t row = 0; row < l->s->rows; row++) {
		for (size_t i = 0; i < l->columns.n; i++)
			add_cell(l, i, section_cell(l->s, row, i));
		buf_char(&l->r->out, '\n');
		if (l->s->details.n)
			detail = add_details(l, row, detail);
		render_spill(l->r);
	}
}

static void add_plain(struct attar_renderer *r, const struct attar_section *s)
{
	for (uint32_t row = 0; row < s->rows; row++) {
		struct cell cell = section_cell(s, row, s->columns.n - 1);
		const char *text = cell.kind == CELL_TEXT ? section_text(s, cell.text) : "";

		escape_text(&r->out, text, strlen(text));
		buf_char(&r->out, '\n');
		render_spill(r);
	}
}

void text_events(struct attar_renderer *r, struct attar_section *s)
{
	struct lines l _cleanup_(lines_done) = {.r = r, .s = s};
	bool same;

	if (!s->rows)
		return;
	if (s->is_plain) {
		add_plain(r, s);
		return;
	}
	if (r->opts.columns || r->opts.colour) {
		section_expand_fields(s);
		text_fitted_events(r, s);
		return;
	}
	if (measure(&l) < 0) {
		r->out.failed = true;
		return;
	}
	same = text_continues(r, s, l.columns.at, l.columns.n);
	layout_fit(l.columns.at, l.columns.n, 0);
	if (!same)
		add_heading(&l);
	add_lines(&l);
}
