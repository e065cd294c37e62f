/* SPDX-License-Identifier: MIT */
/*
 * CSV for spreadsheets and data frames: RFC 4180 with LF line ends. Each section is a block: a line
 * of column names and its rows. A report of one section is only this block, and later reports with
 * the same columns continue it, so that a run with intervals is one table. If there are several
 * sections, blocks are separated by an empty line and each starts with "# name".
 *
 * Numbers have no units; the column name contains the unit (self_percent, wait_ns).
 */
#include "report/sinks/render.h"

#include "base/escape.h"
#include "report/model/fields.h"
#include "report/model/number.h"
#include "report/model/tree.h"
#include "report/sinks/repeated.h"

static void add_text(struct buf *b, const char *text)
{
	escape_csv(b, text, strlen(text));
}

static void end_row(struct attar_renderer *r)
{
	buf_str(&r->out, "\n");
	render_spill(r);
}

static void add_time(struct attar_renderer *r, const struct attar_report *report)
{
	if (report->time)
		number_plain(&r->out, report->has_no_date ? ATTAR_UNIT_CLOCK : ATTAR_UNIT_TIME,
			(struct cell){CELL_U64, .u64 = report->time});
}

static const char *suffix(enum attar_unit unit)
{
	switch (unit) {
	case ATTAR_UNIT_PERCENT:
	case ATTAR_UNIT_NS:
	case ATTAR_UNIT_BYTES:
	case ATTAR_UNIT_HZ:
		return unit_name(unit);
	default:
		return NULL;
	}
}

/* Event lines have a time column. A duration with this name is "time_ns". */
static bool has_time(const struct attar_section *s)
{
	vec_each (&s->columns, column)
		if (!suffix(column->unit) && !strcmp(section_text(s, column->name), "time"))
			return true;
	return false;
}

static void add_name(struct buf *b, const char *name, enum attar_unit unit)
{
	struct buf full _cleanup_(buf_done) = {0};

	buf_str(&full, name);
	if (suffix(unit))
		buf_printf(&full, "_%s", suffix(unit));
	add_text(b, buf_text(&full));
	b->failed |= full.failed;
}

static void rows_head(struct buf *b, const struct attar_section *s)
{
	const char *comma = has_time(s) ? "" : ",";

	if (*comma)
		buf_str(b, "time");
	for (size_t i = 0; i < s->columns.n; i++, comma = ",") {
		buf_str(b, comma);
		add_name(b, section_text(s, s->columns.at[i].name), s->columns.at[i].unit);
	}
	if (s->details.n)
		buf_str(b, ",detail");
}

static void tree_head(struct buf *b, const struct attar_section *s)
{
	buf_str(b, "time,node,parent,kind,name,module,");
	add_name(b, "self", s->unit);
	buf_char(b, ',');
	add_name(b, "total", s->unit);
	if (s->tasks.n)
		buf_str(b, ",pid,tid");
	if (s->code.n)
		buf_str(b, ",address,build_id,first_time");
}

/* The text is made in place, after the room for a quote. Most has nothing to escape. */
static void add_fields(struct buf *b, const struct attar_section *s, struct cell cell)
{
	struct fields fields = section_fields(s, cell);
	char *text, copy[FIELDS_TEXT_MAX];
	size_t len;

	if (!buf_reserve(b, FIELDS_TEXT_MAX + 2))
		return;
	text = b->data + b->len + 1;
	len = fields_text(&fields, text);
	switch (escape_csv_form(text, len)) {
	case ESCAPE_CSV_PLAIN:
		memmove(text - 1, text, len + 1);
		b->len += len;
		break;
	case ESCAPE_CSV_QUOTED:
		text[-1] = text[len] = '"';
		text[len + 1] = '\0';
		b->len += len + 2;
		break;
	case ESCAPE_CSV_CHANGED:
		memcpy(copy, text, len);
		escape_csv(b, copy, len);
	}
}

static void add_cell(struct attar_renderer *r, const struct attar_section *s, enum attar_unit unit,
	struct cell cell)
{
	if (cell.kind == CELL_TEXT)
		add_text(&r->out, section_text(s, cell.text));
	else if (cell.kind == CELL_FIELDS)
		add_fields(&r->out, s, cell);
	else if (cell.kind == CELL_U64 && unit == ATTAR_UNIT_TIME)
		number_add_utc(&r->out, &r->seconds, cell.u64);
	else
		number_plain(&r->out, unit, cell);
}

static void add_cells(struct attar_renderer *r, const struct attar_section *s, uint32_t row,
	struct repeated repeated[REPEATED_COLUMNS])
{
	const size_t n = s->columns.n;
	const uint8_t *kinds = s->kinds.at + row * n;
	const uint64_t *values = s->values.at + row * n;
	struct buf *b = &r->out;

	for (size_t i = 0; i < n; i++) {
		struct cell cell = {(enum cell_kind)kinds[i], .bits = values[i]};
		bool may_repeat = i && i < REPEATED_COLUMNS;
		size_t from = b->len;

		if (may_repeat && repeated_put(&repeated[i], cell, b))
			continue;
		if (i)
			buf_char(b, ',');
		add_cell(r, s, s->columns.at[i].unit, cell);
		if (may_repeat)
			repeated_keep(&repeated[i], cell, b, from);
	}
}

/* The detail lines of a row as one field in the form of folded stacks: "main;work;hot". */
static size_t add_details(struct buf *b, const struct attar_section *s, uint32_t row, size_t at)
{
	struct buf lines _cleanup_(buf_done) = {0};

	for (; section_has_detail(s, row, at); at++) {
		const char *line = section_detail(s, at);

		if (lines.len)
			buf_char(&lines, ';');
		escape_folded(&lines, line, strlen(line));
	}
	buf_char(b, ',');
	add_text(b, buf_text(&lines));
	b->failed |= lines.failed;
	return at;
}

static void draw_rows(struct attar_renderer *r, const struct attar_section *s)
{
	struct repeated repeated[REPEATED_COLUMNS] = {0};
	bool timed = !has_time(s);
	size_t detail = 0;

	for (uint32_t row = 0; row < s->rows; row++) {
		if (timed) {
			add_time(r, s->report);
			buf_char(&r->out, ',');
		}
		add_cells(r, s, row, repeated);
		if (s->details.n)
			detail = add_details(&r->out, s, row, detail);
		end_row(r);
	}
}

static void add_task(struct buf *b, const struct tree_task *task)
{
	buf_char(b, ',');
	if (task)
		buf_u64(b, task->pid);
	buf_char(b, ',');
	if (task && task->tid)
		buf_u64(b, task->tid);
}

static void add_code(struct buf *b, const struct attar_section *s, const struct tree_code *code)
{
	buf_char(b, ',');
	if (code && code->address)
		buf_printf(b, "0x%llx", (unsigned long long)code->address);
	buf_char(b, ',');
	if (code)
		add_text(b, section_text(s, code->build_id));
	buf_char(b, ',');
	if (code && code->first_time)
		number_plain(b, ATTAR_UNIT_TIME, (struct cell){CELL_U64, .u64 = code->first_time});
}

static void draw_nodes(struct attar_renderer *r, struct attar_section *s)
{
	struct buf *b = &r->out;
	size_t task = 0, code = 0;

	for (uint32_t i = 0; i < s->nodes.n; i++) {
		const struct tree_node *node = &s->nodes.at[i];

		add_time(r, s->report);
		buf_printf(b, ",%u,%lld,%s,", i, tree_parent_id(node), frame_kind_name(node->kind));
		add_text(b, section_text(s, node->name));
		buf_char(b, ',');
		add_text(b, section_text(s, node->module));
		buf_printf(b, ",%llu,%llu", (unsigned long long)node->self,
			(unsigned long long)node->total);
		if (s->tasks.n)
			add_task(b, tree_task_of(s, i, &task));
		if (s->code.n)
			add_code(b, s, tree_code_of(s, i, &code));
		end_row(r);
	}
}

/* Starts a block, unless the rows continue the open one. */
static void open_block(struct attar_renderer *r, const struct attar_section *s, bool alone)
{
	struct buf head _cleanup_(buf_done) = {0}, name _cleanup_(buf_done) = {0};

	if (s->kind == ATTAR_SECTION_TREE)
		tree_head(&head, s);
	else
		rows_head(&head, s);
	if (alone && r->open.len && strcmp(buf_text(&r->open), buf_text(&head)) == 0)
		return;
	if (r->open.len)
		buf_str(&r->out, "\n");
	if (!alone) {
		buf_printf(&name, "# %s", section_text(s, s->name));
		add_text(&r->out, buf_text(&name));
		buf_char(&r->out, '\n');
	}
	buf_str(&r->out, buf_text(&head));
	buf_str(&r->out, "\n");
	buf_reset(&r->open);
	buf_str(&r->open, buf_text(&head));
	r->out.failed |= head.failed || name.failed;
}

static int csv_draw(struct attar_renderer *r, const struct attar_report *report)
{
	report_each_section (report, it) {
		struct attar_section *s = *it;

		if (s->kind == ATTAR_SECTION_TREE)
			tree_sum(s);
		open_block(r, s, report->sections.n == 1);
		if (s->kind == ATTAR_SECTION_TREE)
			draw_nodes(r, s);
		else
			draw_rows(r, s);
	}
	render_log_notes(r, report);
	return 0;
}

const struct render_format render_csv = {
	.sink = {.name = "csv",
		.extension = "csv",
		.media_type = "text/csv; charset=utf-8",
		.sections = RENDER_ALL},
	.draws_fields = true,
	.draw = csv_draw,
};
