/* SPDX-License-Identifier: MIT */
/*
 * Event lines as text. Without a limit on their width and without styles, a line is written
 * directly into the output: the widths of the columns are known without formatting the last one,
 * which is the longest.
 */
#include "report/sinks/text/text.h"

#include "base/digits.h"
#include "base/escape.h"
#include "report/model/fields.h"
#include "report/sinks/layout.h"
#include "report/model/number.h"
#include "report/model/width.h"

enum { GAP = 2 /* spaces between columns */ };
enum {
	PID_WIDTH = 7,
	NUMBER_WIDTH = 5,
	DURATION_WIDTH = 7,
	COMM_WIDTH = 15,
	ADDRESS_WIDTH = 15, /* of IPv4 */
	PATH_WIDTH = 32,
	ERROR_WIDTH = 9,
};

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
	unsigned over; /* by how much the cells of the row so far exceed their columns */
};

static void lines_done(struct lines *l)
{
	l->r->out.failed |= l->scratch.failed;
	vec_done(&l->columns);
	vec_done(&l->recent);
	buf_done(&l->scratch);
}

bool text_continues(struct attar_renderer *r, const struct attar_section *s)
{
	struct buf shape _cleanup_(buf_done) = {0};
	bool same;

	buf_str(&shape, section_text(s, s->name));
	for (size_t i = 0; i < s->columns.n; i++)
		buf_printf(&shape, "\n%s", section_text(s, s->columns.at[i].name));
	same = strcmp(buf_text(&shape), buf_text(&r->open)) == 0 && r->widths.n == s->columns.n;
	buf_reset(&r->open);
	buf_str(&r->open, buf_text(&shape));
	r->out.failed |= shape.failed;
	return same;
}

/* The same for a column of texts, by its name. */
static unsigned usual_text_width(const char *name)
{
	static const struct {
		const char *suffix;
		unsigned width;
	} all[] = {{"comm", COMM_WIDTH}, {"addr", ADDRESS_WIDTH}, {"server", ADDRESS_WIDTH},
		{"path", PATH_WIDTH}, {"file", PATH_WIDTH}, {"host", PATH_WIDTH},
		{"err", ERROR_WIDTH}};
	const size_t n = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		size_t length = strlen(all[i].suffix);

		if (n >= length && !strcasecmp(name + n - length, all[i].suffix))
			return all[i].width;
	}
	return 0;
}

/* What a column usually needs: names and numbers of threads, numbers and durations. */
static unsigned usual_width(const struct attar_section *s, size_t column)
{
	const char *name = section_text(s, s->columns.at[column].name);
	const size_t n = strlen(name);

	switch (s->columns.at[column].unit) {
	case ATTAR_UNIT_ID:
		return n >= 2 && !strcasecmp(name + n - 2, "id") ? PID_WIDTH : NUMBER_WIDTH;
	case ATTAR_UNIT_NS:
		return DURATION_WIDTH;
	case ATTAR_UNIT_TEXT:
		return usual_text_width(name);
	default:
		return 0;
	}
}

void text_keep_widths(struct attar_renderer *r, const struct attar_section *s,
	struct layout_column *columns, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += MAX(columns[i].wish, usual_width(s, i)) + GAP;
	r->widths.n = 0;
	for (size_t i = 0; i < n; i++) {
		if (!r->opts.columns || sum <= r->opts.columns)
			columns[i].wish = MAX(columns[i].wish, usual_width(s, i));
		r->out.failed |= vec_push(&r->widths, columns[i].wish) < 0;
	}
}

/* ---- cells ---- */

static unsigned escaped_width(struct lines *l, const char *text, size_t len)
{
	buf_reset(&l->scratch);
	escape_text(&l->scratch, text, len);
	return width_of(buf_text(&l->scratch));
}

static void read_text(struct lines *l, struct recent *recent, uint32_t id)
{
	recent->id = id;
	recent->text = section_text(l->s, id);
	recent->len = strlen(recent->text);
	recent->is_plain = escape_plain(recent->text, recent->len) == recent->len;
	recent->width = recent->is_plain ? (unsigned)recent->len
					 : escaped_width(l, recent->text, recent->len);
}

static inline const struct recent *text_of(struct lines *l, size_t column, uint32_t id)
{
	struct recent *recent = &l->recent.at[column];

	if (unlikely(recent->id != id || !recent->text))
		read_text(l, recent, id);
	return recent;
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

static int add_columns(struct lines *l)
{
	const struct attar_section *s = l->s;

	for (size_t i = 0; i < s->columns.n; i++) {
		struct layout_column *column = vec_add(&l->columns);

		if (!column || !vec_add(&l->recent))
			return base_oom();
		column->text = s->columns.at[i].unit == ATTAR_UNIT_TEXT;
		column->grows = true;
	}
	return 0;
}

/* Determines the widest cell of each column that is padded. */
static void measure(struct lines *l)
{
	for (size_t i = 0; i < l->columns.n; i++) {
		struct layout_column *column = &l->columns.at[i];

		column->wish = text_of(l, i, l->s->columns.at[i].name)->width;
		if (!is_last(l, i) || !column->text)
			column->wish = MAX(column->wish, measure_column(l, i));
	}
}

/* The blanks beside a cell. They make up for cells before it that exceed their columns. */
static inline unsigned blanks_of(struct lines *l, unsigned wanted, unsigned width)
{
	unsigned blanks, taken;

	if (unlikely(width > wanted)) {
		l->over += width - wanted;
		return 0;
	}
	blanks = wanted - width;
	taken = MIN(blanks, l->over);
	l->over -= taken;
	return blanks - taken;
}

enum { FEW_SPACES = 16 };

/* Writes n spaces, and may overwrite FEW_SPACES bytes. Returns their end. */
static inline char *put_spaces(char *to, unsigned n)
{
	memset(to, ' ', FEW_SPACES); /* without a call */
	if (unlikely(n > FEW_SPACES))
		memset(to, ' ', n);
	return to + n;
}

static void add_spaces(struct buf *b, unsigned n)
{
	if (!buf_reserve(b, n + FEW_SPACES))
		return;
	b->len = (size_t)(put_spaces(b->data + b->len, n) - b->data);
	b->data[b->len] = '\0';
}

/* A text, after and before spaces. */
static void add_text(struct buf *b, unsigned before, const struct recent *text, unsigned after)
{
	char *to;

	if (unlikely(!text->is_plain)) {
		add_spaces(b, before);
		escape_text(b, text->text, text->len);
		add_spaces(b, after);
		return;
	}
	if (!buf_reserve(b, before + text->len + after + FEW_SPACES))
		return;
	to = put_spaces(b->data + b->len, before);
	base_copy_short(to, text->text, text->len);
	to = put_spaces(to + text->len, after);
	*to = '\0';
	b->len = (size_t)(to - b->data);
}

/* An identifier, aligned to the right, before spaces. */
static void add_id(struct lines *l, unsigned wanted, uint64_t id, unsigned after)
{
	unsigned before = blanks_of(l, wanted, digits_of(id));
	struct buf *b = &l->r->out;
	char *to;

	if (!buf_reserve(b, before + DIGITS_MAX + after + FEW_SPACES))
		return;
	to = put_spaces(b->data + b->len, before);
	to = put_spaces(digits_u64(to, id), after);
	*to = '\0';
	b->len = (size_t)(to - b->data);
}

/* Any other cell of a column that is aligned to the right. */
static void add_number(struct lines *l, size_t column, struct cell cell, unsigned after)
{
	unsigned wanted = l->columns.at[column].width, width = width_in(l, column, cell);
	struct buf *b = &l->r->out;

	add_spaces(b, blanks_of(l, wanted, width));
	add_other(l, b, column, cell);
	add_spaces(b, after);
}

/* Any other cell of a column that is aligned to the left. */
static void add_words(struct lines *l, size_t column, struct cell cell, unsigned after)
{
	unsigned wanted = l->columns.at[column].width, width;
	struct buf *b = &l->r->out;

	if (is_last(l, column)) {
		add_other(l, b, column, cell);
		return;
	}
	width = width_in(l, column, cell);
	if (width)
		buf_add(b, l->scratch.data, l->scratch.len);
	add_spaces(b, after + blanks_of(l, wanted, width));
}

static void add_cell(struct lines *l, size_t column, struct cell cell)
{
	unsigned wanted = l->columns.at[column].width, after = is_last(l, column) ? 0 : GAP, blanks;
	bool is_left = l->columns.at[column].text;
	struct buf *b = &l->r->out;
	const struct recent *text;

	if (cell.kind == CELL_TEXT) {
		text = text_of(l, column, cell.text);
		blanks = blanks_of(l, wanted, text->width);
		if (is_left)
			add_text(b, 0, text, after ? blanks + after : 0);
		else
			add_text(b, blanks, text, after);
	} else if (is_left) {
		add_words(l, column, cell, after);
	} else if (cell.kind == CELL_U64 && l->s->columns.at[column].unit == ATTAR_UNIT_ID) {
		add_id(l, wanted, cell.u64, after);
	} else {
		add_number(l, column, cell, after);
	}
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
		l->over = 0;
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
	if (add_columns(&l) < 0) {
		r->out.failed = true;
		return;
	}
	same = text_continues(r, s);
	if (!same) {
		measure(&l);
		text_keep_widths(r, s, l.columns.at, l.columns.n);
	}
	for (size_t i = 0; same && i < l.columns.n; i++)
		l.columns.at[i].wish = r->widths.at[i];
	layout_fit(l.columns.at, l.columns.n, 0);
	if (!same)
		add_heading(&l);
	add_lines(&l);
}
