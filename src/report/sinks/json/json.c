/* SPDX-License-Identifier: MIT */
/* One object per line, see docs/report.schema.json. */
#include "report/sinks/render.h"

#include <math.h>

#include "base/digits.h"
#include "base/escape.h"
#include "report/model/fields.h"
#include "report/model/number.h"
#include "report/model/tree.h"
#include "report/sinks/repeated.h"

static void add_string(struct buf *b, const char *text)
{
	escape_json_string(b, text, strlen(text));
}

static void add_double(struct buf *b, double value)
{
	if (isfinite(value))
		number_double(b, value);
	else
		buf_str(b, "null");
}

static void add_column(struct buf *b, const char *comma, const char *name, const char *unit)
{
	buf_printf(b, "%s{\"name\":", comma);
	add_string(b, name);
	buf_printf(b, ",\"unit\":\"%s\"}", unit);
}

/* The text is made in place. Most has nothing to escape. */
static void add_fields(struct buf *b, const struct attar_section *s, struct cell cell)
{
	struct fields fields = section_fields(s, cell);
	char *text, copy[FIELDS_TEXT_MAX];
	size_t len;

	if (!buf_reserve(b, FIELDS_TEXT_MAX + 2))
		return;
	text = b->data + b->len + 1;
	len = fields_text(&fields, text);
	if (escape_plain_json(text, len) < len) {
		memcpy(copy, text, len);
		escape_json_string(b, copy, len);
		return;
	}
	text[-1] = text[len] = '"';
	text[len + 1] = '\0';
	b->len += len + 2;
}

static void add_integer(struct buf *b, struct cell cell)
{
	char *to;

	if (!buf_reserve(b, DIGITS_MAX))
		return;
	to = b->data + b->len;
	to = cell.kind == CELL_I64 ? digits_i64(to, cell.i64) : digits_u64(to, cell.u64);
	*to = '\0';
	b->len = (size_t)(to - b->data);
}

static void add_cell(struct buf *b, const struct attar_section *s, struct cell cell)
{
	switch (cell.kind) {
	case CELL_FIELDS:
		add_fields(b, s, cell);
		break;
	case CELL_TEXT:
		add_string(b, section_text(s, cell.text));
		break;
	case CELL_U64:
	case CELL_I64:
		add_integer(b, cell);
		break;
	case CELL_DOUBLE:
		add_double(b, cell.real);
		break;
	case CELL_NONE:
		buf_str(b, "null");
		break;
	}
}

static void add_column_cell(struct buf *b, const struct attar_section *s, const char *comma,
	struct repeated *last, struct cell cell)
{
	size_t from = b->len;

	if (repeated_put(last, cell, b))
		return;
	buf_str(b, comma);
	add_cell(b, s, cell);
	repeated_keep(last, cell, b, from);
}

/* The last cell of a row: its detail lines. Returns the index of the next row's first line. */
static size_t add_details(struct buf *b, const struct attar_section *s, uint32_t row, size_t at)
{
	buf_str(b, ",[");
	for (bool first = true; section_has_detail(s, row, at); at++, first = false) {
		if (!first)
			buf_char(b, ',');
		add_string(b, section_detail(s, at));
	}
	buf_char(b, ']');
	return at;
}

/* Position in the data that is stored separately from the cells. */
struct position {
	size_t detail, named;
};

static void add_parts(
	struct buf *b, const struct attar_section *s, const struct cell *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_char(b, ',');
		add_cell(b, s, parts[i]);
	}
}

/* Named values of a row. first: no member precedes them. */
static void add_named(
	struct buf *b, const struct attar_section *s, uint32_t row, size_t *at, bool first)
{
	for (; *at < s->named.n; ++*at, first = false) {
		const struct named *value = &s->named.at[*at];

		if (value->row != row)
			break;
		if (!first)
			buf_char(b, ',');
		add_string(b, section_text(s, value->name));
		buf_str(b, value->is_list ? ":[" : value->parts ? ":" : ":null");
		add_parts(b, s, s->parts.at + value->first, value->parts);
		if (value->is_list)
			buf_char(b, ']');
	}
}

/* The values of a row: {"prev_pid":3,"lots":[1,2]}. */
void render_values(struct buf *b, const struct attar_section *s, uint32_t row, size_t *at)
{
	const uint8_t *kinds = s->kinds.at + row * s->columns.n, *end = kinds + s->columns.n;
	const uint8_t *kind = s->has_record_values ? kinds : end;
	bool first = true;

	buf_char(b, '{');
	for (; kind < end && (kind = memchr(kind, CELL_FIELDS, (size_t)(end - kind))); kind++) {
		struct fields fields =
			section_fields(s, section_cell(s, row, (size_t)(kind - kinds)));

		if (fields.has_values)
			first &= !fields_json(b, &fields, first);
	}
	if (*at < s->named.n)
		add_named(b, s, row, at, first);
	buf_char(b, '}');
}

/* The cells of a row of columns. */
static void add_cells(struct attar_renderer *r, const struct attar_section *s, uint32_t row,
	struct repeated repeated[REPEATED_COLUMNS])
{
	const size_t n = s->columns.n;
	const uint8_t *kinds = s->kinds.at + row * n;
	const uint64_t *values = s->values.at + row * n;
	struct buf *b = &r->out;

	for (size_t i = 0; i < n; i++) {
		struct cell cell = {(enum cell_kind)kinds[i], .bits = values[i]};

		if ((i > 0 || cell.kind == CELL_DOUBLE) && i < REPEATED_COLUMNS) {
			add_column_cell(b, s, i ? "," : "", &repeated[i], cell);
			continue;
		}
		if (i)
			buf_char(b, ',');
		if (cell.kind == CELL_U64 && s->columns.at[i].unit == ATTAR_UNIT_TIME)
			number_add_ns(b, &r->seconds, cell.u64);
		else
			add_cell(b, s, cell);
	}
}

static void draw_rows(struct attar_renderer *r, const struct attar_section *s)
{
	struct repeated repeated[REPEATED_COLUMNS] = {0};
	struct buf *b = &r->out;
	struct position at = {0};

	buf_str(b, "\"columns\":[");
	for (size_t i = 0; i < s->columns.n; i++) {
		const struct column *c = &s->columns.at[i];

		add_column(b, i ? "," : "", section_text(s, c->name), unit_name(c->unit));
	}
	if (s->named.n || s->has_record_values)
		add_column(b, ",", "values", "object");
	if (s->details.n)
		add_column(b, ",", "detail", "lines");
	buf_str(b, "],\"rows\":[");
	for (uint32_t row = 0; row < s->rows; row++) {
		if (row)
			buf_str(b, ",[");
		else
			buf_char(b, '[');
		add_cells(r, s, row, repeated);
		if (s->named.n || s->has_record_values) {
			buf_char(b, ',');
			render_values(b, s, row, &at.named);
		}
		if (s->details.n)
			at.detail = add_details(b, s, row, at.detail);
		buf_char(b, ']');
		render_spill(r);
	}
	buf_char(b, ']');
}

static void tree_columns(struct buf *b, const struct attar_section *s)
{
	buf_str(b, "\"columns\":[");
	add_column(b, "", "parent", "id");
	add_column(b, ",", "kind", "text");
	add_column(b, ",", "name", "text");
	add_column(b, ",", "module", "text");
	add_column(b, ",", "self", unit_name(s->unit));
	add_column(b, ",", "total", unit_name(s->unit));
	if (s->tasks.n) {
		add_column(b, ",", "pid", "id");
		add_column(b, ",", "tid", "id");
	}
	if (s->code.n) {
		add_column(b, ",", "address", "hex");
		add_column(b, ",", "build_id", "text");
		add_column(b, ",", "first_time", "time");
	}
	buf_str(b, "],\"rows\":[");
}

static void add_node(struct buf *b, const struct attar_section *s, const struct tree_node *node)
{
	buf_char(b, '[');
	buf_i64(b, tree_parent_id(node));
	buf_str(b, ",\"");
	buf_str(b, frame_kind_name(node->kind));
	buf_str(b, "\",");
	add_string(b, section_text(s, node->name));
	buf_char(b, ',');
	if (node->module)
		add_string(b, section_text(s, node->module));
	else
		buf_str(b, "null");
	buf_char(b, ',');
	buf_u64(b, node->self);
	buf_char(b, ',');
	buf_u64(b, node->total);
}

/* tid is null if the node is a whole process; both are null if it is not a task. */
static void add_task(struct buf *b, const struct tree_task *task)
{
	if (!task) {
		buf_str(b, ",null,null");
		return;
	}
	buf_char(b, ',');
	buf_u64(b, task->pid);
	buf_char(b, ',');
	if (task->tid)
		buf_u64(b, task->tid);
	else
		buf_str(b, "null");
}

static void add_known(struct buf *b, uint64_t value)
{
	buf_char(b, ',');
	if (value)
		buf_u64(b, value);
	else
		buf_str(b, "null");
}

/* Unknown parts are null. */
static void add_code(struct buf *b, const struct attar_section *s, const struct tree_code *code)
{
	static const struct tree_code unknown = {0};

	code = code ? code : &unknown;
	add_known(b, code->address);
	buf_char(b, ',');
	if (code->build_id)
		add_string(b, section_text(s, code->build_id));
	else
		buf_str(b, "null");
	add_known(b, code->first_time);
}

static void draw_tree(struct attar_renderer *r, struct attar_section *s)
{
	struct buf *b = &r->out;
	size_t task = 0, code = 0;

	tree_sum(s);
	tree_columns(b, s);
	for (uint32_t i = 0; i < s->nodes.n; i++) {
		if (i)
			buf_char(b, ',');
		add_node(b, s, &s->nodes.at[i]);
		if (s->tasks.n)
			add_task(b, tree_task_of(s, i, &task));
		if (s->code.n)
			add_code(b, s, tree_code_of(s, i, &code));
		buf_char(b, ']');
		render_spill(r);
	}
	buf_char(b, ']');
	if (!s->weight)
		return;
	buf_str(b, ",\"weight\":");
	add_string(b, section_text(s, s->weight));
}

/* ,"summary":{...},"quantiles":[{"share":0.5,"value":12},...] of a histogram, if known. */
static void add_summary(struct buf *b, const struct attar_section *s)
{
	const struct summary *all = &s->summary;

	if (all->is_set) {
		buf_str(b, ",\"summary\":{\"count\":");
		buf_u64(b, all->count);
		buf_str(b, ",\"sum\":");
		add_cell(b, s, all->sum);
		buf_str(b, ",\"min\":");
		add_cell(b, s, all->min);
		buf_str(b, ",\"max\":");
		add_cell(b, s, all->max);
		buf_char(b, '}');
	}
	if (!s->quantiles.n)
		return;
	buf_str(b, ",\"quantiles\":[");
	for (size_t i = 0; i < s->quantiles.n; i++) {
		buf_printf(b, "%s{\"share\":", i ? "," : "");
		add_double(b, s->quantiles.at[i].share);
		buf_str(b, ",\"value\":");
		add_cell(b, s, s->quantiles.at[i].value);
		buf_char(b, '}');
	}
	buf_char(b, ']');
}

static void draw_section(struct attar_renderer *r, struct attar_section *s)
{
	buf_str(&r->out, "{\"name\":");
	add_string(&r->out, section_text(s, s->name));
	buf_printf(&r->out, ",\"kind\":\"%s\",", section_kind_name(s->kind));
	if (s->is_for_trees)
		buf_str(&r->out, "\"for_trees\":true,");
	if (s->kind == ATTAR_SECTION_TREE)
		draw_tree(r, s);
	else
		draw_rows(r, s);
	add_summary(&r->out, s);
	buf_char(&r->out, '}');
}

static void add_remarks(struct buf *b, const struct attar_report *report)
{
	buf_str(b, ",\"remarks\":[");
	for (size_t i = 0; i < report->remarks.n; i++) {
		if (i)
			buf_char(b, ',');
		add_string(b, report_text(report, report->remarks.at[i]));
	}
	buf_char(b, ']');
}

static void add_missing(struct buf *b, const struct attar_notes *notes)
{
	buf_str(b, ",\"missing_by_cpu\":[");
	for (size_t i = 0; i < notes->n_missing_by_cpu; i++) {
		const struct attar_cpu_count *it = &notes->missing_by_cpu[i];

		buf_printf(b, "%s{\"cpu\":", i ? "," : "");
		if (it->cpu < 0)
			buf_str(b, "null");
		else
			buf_printf(b, "%d", it->cpu);
		buf_str(b, ",\"missing\":");
		buf_u64(b, it->count);
		buf_char(b, '}');
	}
	buf_char(b, ']');
}

static void add_notes(struct buf *b, const struct attar_report *report)
{
	const struct attar_notes *notes = &report->notes;

	if (!report->has_notes) {
		buf_str(b, ",\"notes\":null");
		return;
	}
	buf_str(b, ",\"notes\":{\"seen\":");
	buf_u64(b, notes->seen);
	buf_str(b, ",\"lost\":");
	buf_u64(b, notes->lost);
	buf_str(b, ",\"lost_side_band\":");
	buf_u64(b, notes->lost_side_band);
	buf_str(b, ",\"missing\":");
	buf_u64(b, notes->missing);
	add_missing(b, notes);
	buf_str(b, ",\"throttled\":");
	buf_u64(b, notes->throttled);
	buf_str(b, ",\"unresolved\":");
	add_double(b, notes->unresolved >= 0 ? notes->unresolved : NAN);
	buf_str(b, ",\"self_cpu\":");
	add_double(b, notes->self_cpu >= 0 ? notes->self_cpu : NAN);
	buf_str(b, ",\"self_rss\":");
	buf_u64(b, notes->self_rss);
	buf_str(b, ",\"unprinted\":");
	buf_u64(b, notes->unprinted);
	buf_str(b, ",\"unprinted_reports\":");
	buf_u64(b, notes->unprinted_reports);
	buf_str(b, ",\"buffer_size\":");
	buf_u64(b, notes->buffer_size);
	buf_str(b, ",\"buffer_peak\":");
	buf_u64(b, notes->buffer_peak);
	buf_str(b, ",\"unstored\":");
	buf_u64(b, notes->unstored);
	buf_char(b, '}');
}

static int json_draw(struct attar_renderer *r, const struct attar_report *report)
{
	struct buf *b = &r->out;
	const char *comma = "";

	buf_str(b, "{\"schema\":\"attar/1\",\"profiler\":");
	add_string(b, report_text(report, report->profiler));
	buf_str(b, ",\"time\":");
	buf_u64(b, report->time);
	buf_str(b, ",\"interval_ns\":");
	buf_u64(b, report->interval_ns);
	buf_str(b, ",\"sections\":[");
	report_each_section (report, it) {
		buf_str(b, comma);
		draw_section(r, *it);
		comma = ",";
	}
	buf_char(b, ']');
	if (report->remarks.n)
		add_remarks(b, report);
	add_notes(b, report);
	buf_str(b, "}\n");
	return 0;
}

const struct render_format render_json = {
	.sink = {.name = "json",
		.extension = "json",
		.media_type = "application/json",
		.sections = RENDER_ALL,
		.is_complete = true,
		.has_notes = true},
	.draws_fields = true,
	.draw = json_draw,
};
