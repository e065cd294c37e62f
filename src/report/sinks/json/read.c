/* SPDX-License-Identifier: MIT */
/* The members of a section are found first, as they may be in any order. */
#include "attar/report.h"

#include <stdlib.h>

#include "attar/private/report.h"
#include "base/check_arg.h"
#include "base/json.h"
#include "report/model/model.h"

enum { NUMBER_BYTES_MAX = 64 };

/* A number, a string (kept in *text) or none: other values are skipped. */
static struct attar_cell read_cell(struct json_parser *p, struct buf *text)
{
	struct attar_cell cell = {.kind = ATTAR_CELL_NONE};
	char digits[NUMBER_BYTES_MAX], *end;
	const char *start;
	size_t n;

	if (json_peek(p) == '"') {
		json_read_string(p, text);
		cell.kind = ATTAR_CELL_TEXT;
		cell.text = buf_text(text);
		return cell;
	}
	start = p->at;
	json_skip(p);
	n = (size_t)(p->at - start);
	if (p->failed || !n || n >= sizeof(digits) || !strchr("-0123456789", *start))
		return cell;
	memcpy(digits, start, n);
	digits[n] = '\0';
	errno = 0;
	if (digits[strspn(digits, "0123456789")] == '\0') {
		cell.kind = ATTAR_CELL_U64;
		cell.u64 = strtoull(digits, &end, 10);
	} else if (*digits == '-' && digits[1 + strspn(digits + 1, "0123456789")] == '\0') {
		cell.kind = ATTAR_CELL_I64;
		cell.i64 = strtoll(digits, &end, 10);
	} else {
		cell.kind = ATTAR_CELL_DOUBLE;
		cell.real = strtod_l(digits, &end, p->c);
	}
	if (*end || errno == ERANGE)
		json_fail(p);
	return cell;
}

static struct cell exact(struct attar_cell cell)
{
	return cell.kind == ATTAR_CELL_U64 ? cell_u64(cell.u64)
					   : cell_double(attar_cell_get_double(cell));
}

static uint64_t whole(struct attar_cell cell)
{
	return cell.kind == ATTAR_CELL_U64 ? cell.u64 : 0;
}

/* ---- sections ---- */

struct column_read {
	char *name;
	int unit; /* -1: not read */
};

struct section_read {
	struct attar_section *section;
	VEC(struct column_read) columns;
	struct buf name, kind, weight, text;
	const char *columns_at, *rows_at, *summary_at, *quantiles_at; /* NULL: absent */
	bool is_for_trees;
};

static void section_done(struct section_read *s)
{
	vec_each (&s->columns, it)
		free(it->name);
	vec_done(&s->columns);
	buf_done(&s->name);
	buf_done(&s->kind);
	buf_done(&s->weight);
	buf_done(&s->text);
}

static void read_column(struct json_parser *p, struct section_read *s)
{
	struct buf key _cleanup_(buf_done) = {0}, unit _cleanup_(buf_done) = {0};
	struct column_read column = {0};
	bool first = true;

	json_expect(p, '{');
	while (json_next_member(p, &first, &key)) {
		if (!strcmp(buf_text(&key), "name"))
			json_read_string(p, &s->text);
		else if (!strcmp(buf_text(&key), "unit"))
			json_read_string(p, &unit);
		else
			json_skip(p);
	}
	column.name = strdup(buf_text(&s->text));
	column.unit = unit_find(buf_text(&unit));
	if (!column.name || vec_push(&s->columns, column) < 0) {
		free(column.name);
		json_fail(p);
	}
}

static void read_columns(struct json_parser *p, struct section_read *s)
{
	bool first = true;

	p->at = s->columns_at;
	json_expect(p, '[');
	while (json_next(p, ']', &first))
		read_column(p, s);
}

static void add_cell(struct attar_section *section, struct attar_cell cell)
{
	switch (cell.kind) {
	case ATTAR_CELL_U64:
		attar_cell_u64(section, cell.u64);
		break;
	case ATTAR_CELL_I64:
		attar_cell_i64(section, cell.i64);
		break;
	case ATTAR_CELL_DOUBLE:
		attar_cell_double(section, cell.real);
		break;
	case ATTAR_CELL_TEXT:
		attar_cell_text(section, cell.text);
		break;
	case ATTAR_CELL_NONE:
		attar_cell_none(section);
	}
}

static void read_details(struct json_parser *p, struct section_read *s)
{
	bool first = true;

	json_expect(p, '[');
	while (json_next(p, ']', &first)) {
		json_read_string(p, &s->text);
		attar_row_detail(s->section, buf_text(&s->text));
	}
}

/* The detail lines are in the column "detail" after those with a unit. */
static void read_row(struct json_parser *p, struct section_read *s)
{
	bool first = true;
	size_t i = 0;

	attar_section_row(s->section);
	for (; json_next(p, ']', &first); i++) {
		if (i < s->columns.n && s->columns.at[i].unit >= 0)
			add_cell(s->section, read_cell(p, &s->text));
		else if (i < s->columns.n && !strcmp(s->columns.at[i].name, "detail") &&
			 json_peek(p) == '[')
			read_details(p, s);
		else
			json_skip(p);
	}
}

static void read_bucket(struct json_parser *p, struct section_read *s)
{
	struct attar_cell cells[3] = {{ATTAR_CELL_NONE}};
	bool first = true;

	for (size_t i = 0; json_next(p, ']', &first); i++) {
		if (i < ARRAY_SIZE(cells))
			cells[i] = read_cell(p, &s->text);
		else
			json_skip(p);
	}
	attar_histogram_bucket(s->section, attar_cell_get_double(cells[0]),
		attar_cell_get_double(cells[1]), whole(cells[2]));
}

struct node_read {
	uint32_t parent, pid, tid;
	enum attar_frame_kind kind;
	uint64_t self;
	bool has_task;
	struct buf name, module;
};

static void read_node_cell(
	struct json_parser *p, struct section_read *s, size_t i, struct node_read *n)
{
	const char *column = i < s->columns.n ? s->columns.at[i].name : "";
	struct attar_cell cell;

	if (!strcmp(column, "name") && json_peek(p) == '"') {
		json_read_string(p, &n->name);
		return;
	}
	if (!strcmp(column, "module") && json_peek(p) == '"') {
		json_read_string(p, &n->module);
		return;
	}
	cell = read_cell(p, &s->text);
	if (!strcmp(column, "parent") && cell.kind == ATTAR_CELL_U64) {
		n->parent = (uint32_t)cell.u64;
	} else if (!strcmp(column, "kind") && cell.kind == ATTAR_CELL_TEXT) {
		n->kind = frame_kind_find(cell.text);
	} else if (!strcmp(column, "self")) {
		n->self = whole(cell);
	} else if (!strcmp(column, "pid") && cell.kind == ATTAR_CELL_U64) {
		n->pid = (uint32_t)cell.u64;
		n->has_task = true;
	} else if (!strcmp(column, "tid")) {
		n->tid = (uint32_t)whole(cell);
	}
}

static void read_node(struct json_parser *p, struct section_read *s)
{
	struct node_read n = {.parent = ATTAR_TREE_ROOT};
	bool first = true;
	uint32_t number;

	for (size_t i = 0; json_next(p, ']', &first); i++)
		read_node_cell(p, s, i, &n);
	number = attar_tree_node(s->section, n.parent, n.kind, buf_text(&n.name),
		n.module.len ? buf_text(&n.module) : NULL, n.self);
	if (n.has_task)
		attar_tree_task(s->section, number, n.pid, n.tid);
	buf_done(&n.name);
	buf_done(&n.module);
}

static void read_rows(struct json_parser *p, struct section_read *s,
	void (*read)(struct json_parser *, struct section_read *))
{
	bool first = true;

	if (!s->rows_at)
		return;
	p->at = s->rows_at;
	json_expect(p, '[');
	while (json_next(p, ']', &first)) {
		json_expect(p, '[');
		read(p, s);
	}
}

static void read_summary(struct json_parser *p, struct section_read *s)
{
	struct buf key _cleanup_(buf_done) = {0};
	struct summary summary = {true, 0, cell_u64(0), cell_u64(0), cell_u64(0)};
	bool first = true;

	p->at = s->summary_at;
	json_expect(p, '{');
	while (json_next_member(p, &first, &key)) {
		struct attar_cell cell = read_cell(p, &s->text);

		if (!strcmp(buf_text(&key), "count"))
			summary.count = whole(cell);
		else if (!strcmp(buf_text(&key), "sum"))
			summary.sum = exact(cell);
		else if (!strcmp(buf_text(&key), "min"))
			summary.min = exact(cell);
		else if (!strcmp(buf_text(&key), "max"))
			summary.max = exact(cell);
	}
	histogram_set_summary(s->section, &summary);
}

static void read_quantiles(struct json_parser *p, struct section_read *s)
{
	struct buf key _cleanup_(buf_done) = {0};
	bool first = true;

	p->at = s->quantiles_at;
	json_expect(p, '[');
	while (json_next(p, ']', &first)) {
		struct cell value = cell_u64(0);
		bool first_member = true;
		double share = 0;

		json_expect(p, '{');
		while (json_next_member(p, &first_member, &key)) {
			struct attar_cell cell = read_cell(p, &s->text);

			if (!strcmp(buf_text(&key), "share"))
				share = attar_cell_get_double(cell);
			else if (!strcmp(buf_text(&key), "value"))
				value = exact(cell);
		}
		histogram_add_quantile(s->section, share, value);
	}
}

static enum attar_unit unit_of_column(const struct section_read *s, const char *name)
{
	vec_each (&s->columns, it)
		if (!strcmp(it->name, name) && it->unit >= 0)
			return (enum attar_unit)it->unit;
	return ATTAR_UNIT_COUNT;
}

/* The column of a time line with this name; their number if there is none. */
static size_t span_column(const struct section_read *s, const char *name)
{
	size_t i = 0, n = attar_section_get_columns(s->section);

	while (i < n && strcmp(attar_section_get_column(s->section, i, NULL), name) != 0)
		i++;
	return i;
}

/* The columns exist: each has the cell of its name. */
static void read_span(struct json_parser *p, struct section_read *s)
{
	size_t n = attar_section_get_columns(s->section);
	struct buf texts[ATTAR_SPAN_WAKER_STACK + 1] = {0};
	struct attar_cell cells[ATTAR_SPAN_WAKER_STACK + 1] = {{ATTAR_CELL_NONE}};
	bool first = true;

	for (size_t i = 0; json_next(p, ']', &first); i++) {
		size_t to = i < s->columns.n ? span_column(s, s->columns.at[i].name) : n;

		if (to < n)
			cells[to] = read_cell(p, &texts[to]);
		else
			json_skip(p);
	}
	attar_section_row(s->section);
	for (size_t i = 0; i < n; i++) {
		add_cell(s->section, cells[i]);
		buf_done(&texts[i]);
	}
}

/* The first column, "time", exists. */
static bool is_series(const struct section_read *s)
{
	return s->columns.n && !strcmp(s->columns.at[0].name, "time") &&
	       (s->columns.at[0].unit == ATTAR_UNIT_TIME ||
		       s->columns.at[0].unit == ATTAR_UNIT_CLOCK);
}

static void add_columns(struct section_read *s, size_t from)
{
	for (size_t i = from; i < s->columns.n; i++)
		if (s->columns.at[i].unit >= 0)
			attar_section_column(s->section, s->columns.at[i].name,
				(enum attar_unit)s->columns.at[i].unit);
}

static void build_section(
	struct json_parser *p, struct section_read *s, struct attar_report *report)
{
	const char *kind = buf_text(&s->kind), *name = buf_text(&s->name);

	if (!strcmp(kind, "tree")) {
		s->section = attar_report_tree(report, name, unit_of_column(s, "self"));
		if (s->weight.len)
			s->section->weight = report_keep(report, buf_text(&s->weight));
		read_rows(p, s, read_node);
	} else if (!strcmp(kind, "histogram")) {
		s->section = attar_report_histogram(report, name, unit_of_column(s, "low"));
		read_rows(p, s, read_bucket);
		if (s->summary_at)
			read_summary(p, s);
		if (s->quantiles_at)
			read_quantiles(p, s);
	} else if (!strcmp(kind, "table") || !strcmp(kind, "events")) {
		s->section = *kind == 't' ? attar_report_table(report, name)
					  : attar_report_events(report, name);
		add_columns(s, 0);
		read_rows(p, s, read_row);
	} else if (!strcmp(kind, "time-series") && is_series(s)) {
		s->section = attar_report_time_series(report, name);
		add_columns(s, 1);
		read_rows(p, s, read_row);
	} else if (!strcmp(kind, "spans")) {
		s->section = report_spans(report, name);
		read_rows(p, s, read_span);
	}
	if (s->section)
		s->section->is_for_trees = s->is_for_trees;
}

static void read_section(struct json_parser *p, struct attar_report *report)
{
	struct section_read s _cleanup_(section_done) = {0};
	struct buf key _cleanup_(buf_done) = {0};
	const char *end;
	bool first = true;

	json_expect(p, '{');
	while (json_next_member(p, &first, &key)) {
		const char *name = buf_text(&key);
		const char **span = !strcmp(name, "columns")     ? &s.columns_at
				    : !strcmp(name, "rows")      ? &s.rows_at
				    : !strcmp(name, "summary")   ? &s.summary_at
				    : !strcmp(name, "quantiles") ? &s.quantiles_at
								 : NULL;

		if (span)
			*span = p->at;
		s.is_for_trees |= !strcmp(name, "for_trees") && json_peek(p) == 't';
		if (!strcmp(name, "name"))
			json_read_string(p, &s.name);
		else if (!strcmp(name, "kind"))
			json_read_string(p, &s.kind);
		else if (!strcmp(name, "weight") && json_peek(p) == '"')
			json_read_string(p, &s.weight);
		else
			json_skip(p);
	}
	end = p->at;
	if (p->failed || !s.columns_at)
		return;
	read_columns(p, &s);
	build_section(p, &s, report);
	if (!p->failed)
		p->at = end;
}

/* ---- reports ---- */

static void set_note(struct attar_notes *notes, const char *name, struct attar_cell cell)
{
	uint64_t n = whole(cell);

	if (!strcmp(name, "seen"))
		notes->seen = n;
	else if (!strcmp(name, "lost"))
		notes->lost = n;
	else if (!strcmp(name, "lost_side_band"))
		notes->lost_side_band = n;
	else if (!strcmp(name, "missing"))
		notes->missing = n;
	else if (!strcmp(name, "throttled"))
		notes->throttled = n;
	else if (!strcmp(name, "self_rss"))
		notes->self_rss = n;
	else if (cell.kind == ATTAR_CELL_NONE)
		return;
	else if (!strcmp(name, "unresolved"))
		notes->unresolved = attar_cell_get_double(cell);
	else if (!strcmp(name, "self_cpu"))
		notes->self_cpu = attar_cell_get_double(cell);
}

static void read_notes(struct json_parser *p, struct attar_report *report)
{
	struct buf key _cleanup_(buf_done) = {0}, text _cleanup_(buf_done) = {0};
	struct attar_notes notes = {.unresolved = -1};
	bool first = true;

	if (!json_enter(p))
		return;
	while (json_next_member(p, &first, &key)) {
		if (json_peek(p) == '[')
			json_skip(p);
		else
			set_note(&notes, buf_text(&key), read_cell(p, &text));
	}
	attar_report_notes(report, &notes);
}

static void read_remarks(struct json_parser *p, struct attar_report *report)
{
	struct buf text _cleanup_(buf_done) = {0};
	bool first = true;

	json_expect(p, '[');
	while (json_next(p, ']', &first)) {
		json_read_string(p, &text);
		attar_report_remark(report, "%s", buf_text(&text));
	}
}

struct head {
	struct buf profiler;
	uint64_t time, interval_ns;
	bool has_schema;
};

static void read_members(struct json_parser *p, struct attar_report *report, struct head *head)
{
	struct buf key _cleanup_(buf_done) = {0}, text _cleanup_(buf_done) = {0};
	bool first = true, first_section = true;

	json_expect(p, '{');
	while (json_next_member(p, &first, &key)) {
		const char *name = buf_text(&key);

		if (!strcmp(name, "schema")) {
			json_read_string(p, &text);
			head->has_schema = !strcmp(buf_text(&text), "attar/1");
		} else if (!strcmp(name, "profiler")) {
			json_read_string(p, &head->profiler);
		} else if (!strcmp(name, "time")) {
			head->time = whole(read_cell(p, &text));
		} else if (!strcmp(name, "interval_ns")) {
			head->interval_ns = whole(read_cell(p, &text));
		} else if (!strcmp(name, "notes")) {
			read_notes(p, report);
		} else if (!strcmp(name, "remarks")) {
			read_remarks(p, report);
		} else if (!strcmp(name, "sections")) {
			json_expect(p, '[');
			while (json_next(p, ']', &first_section))
				read_section(p, report);
		} else {
			json_skip(p);
		}
	}
	if (!head->has_schema || json_peek(p))
		json_fail(p);
}

int attar_report_read_json(const char *text, size_t n, struct attar_report **ret_report)
{
	CHECK_ARG(text, "text");
	CHECK_ARG(ret_report, "ret_report");

	struct json_parser p = {
		.at = text, .end = text + n, .c = newlocale(LC_NUMERIC_MASK, "C", 0)};
	struct attar_report *report = attar_report_new("");
	struct head head = {0};
	int e = 0;

	if (!p.c || !report) {
		e = base_oom();
	} else {
		read_members(&p, report, &head);
		report->profiler = report_keep(report, buf_text(&head.profiler));
		attar_report_interval(report, head.time, head.interval_ns);
		if (report->error == -ENOMEM)
			e = base_oom();
		else if (p.failed || report->fault)
			e = attar_fail(
				-EBADMSG, "it is not a report of attar in JSON (schema attar/1)");
	}
	buf_done(&head.profiler);
	if (p.c)
		freelocale(p.c);
	if (e < 0)
		attar_report_free(report);
	else
		*ret_report = report;
	return e;
}
