/* SPDX-License-Identifier: MIT */
/*
 * A self-contained page: page.html with the report as a JSON object in it.
 *
 *	{"title","command","profiler","when","span","doubt","remarks":[...],"notes":"..."|null,
 *	 "tables":[{"name","kind","summary","columns":[{"name","number":0|1,"unit"}],
 *	            "rows":[[cell,...]]}],
 *	 "trees":[...],
 *	 "states":[...]}
 *
 * A text cell is a string; a number cell is a pair of the number and its text. All durations of a
 * table have one unit, as in text output. See html_tree.c for
 * the packed tree, and html_states.c for the states of threads.
 */
#include "report/sinks/html/html.h"

#include <math.h>

#include "base/escape.h"
#include "report/model/number.h"

static const char title_mark[] = "<!--ATTAR-TITLE-->", data_mark[] = "<!--ATTAR-DATA-->";

void html_string(struct buf *b, const char *text)
{
	struct buf safe _cleanup_(buf_done) = {0}, json _cleanup_(buf_done) = {0};

	escape_file_text(&safe, text, strlen(text));
	escape_json(&json, buf_text(&safe), safe.len);
	buf_char(b, '"');
	for (size_t i = 0; i < json.len; i++) {
		if (json.data[i] == '<')
			buf_str(b, "\\u003c");
		else
			buf_char(b, json.data[i]);
	}
	buf_char(b, '"');
	b->failed |= safe.failed || json.failed;
}

static void add_member(struct buf *b, const char *name, const char *text)
{
	buf_printf(b, "\"%s\":", name);
	html_string(b, text);
	buf_char(b, ',');
}

static void add_number(
	struct buf *b, enum attar_unit unit, const struct number_scale *scale, struct cell cell)
{
	if (cell.kind == CELL_NONE || (cell.kind == CELL_DOUBLE && !isfinite(cell.real)))
		buf_str(b, "[null,\"");
	else {
		buf_char(b, '[');
		number_plain(b, ATTAR_UNIT_ID, cell);
		buf_str(b, ",\"");
	}
	if (scale->name && unit == ATTAR_UNIT_NS)
		number_in_scale(b, scale, cell);
	else
		number_cell(b, unit, cell);
	buf_str(b, "\"]");
}

static void add_cell(struct buf *b, const struct attar_section *s, const struct number_scale *scale,
	uint32_t row, size_t column)
{
	struct cell cell = section_cell(s, row, column);
	enum attar_unit unit = s->columns.at[column].unit;

	if (cell.kind == CELL_TEXT)
		html_string(b, section_text(s, cell.text));
	else if (unit == ATTAR_UNIT_TEXT && cell.kind == CELL_NONE)
		buf_str(b, "\"\"");
	else
		add_number(b, unit, scale, cell);
}

static void add_columns(
	struct buf *b, const struct attar_section *s, const struct number_scale *scales)
{
	struct buf name _cleanup_(buf_done) = {0};

	for (size_t i = 0; i < s->columns.n; i++) {
		const struct column *column = &s->columns.at[i];

		buf_str(b, i ? ",{" : "{");
		buf_reset(&name);
		buf_str(&name, section_text(s, column->name));
		if (scales[i].name && column->unit == ATTAR_UNIT_NS)
			buf_printf(&name, " (%s)", scales[i].name);
		add_member(b, "name", buf_text(&name));
		buf_printf(b, "\"number\":%d,\"unit\":\"%s\"}", column->unit != ATTAR_UNIT_TEXT,
			unit_name(column->unit));
	}
	if (s->details.n)
		buf_str(b, ",{\"name\":\"detail\",\"number\":0,\"unit\":\"lines\"}");
	b->failed |= name.failed;
}

static void add_summary(struct buf *b, const struct attar_section *s)
{
	struct buf text _cleanup_(buf_done) = {0};

	if (s->kind != ATTAR_SECTION_HISTOGRAM)
		return;
	render_summary(&text, s);
	add_member(b, "summary", buf_text(&text));
	b->failed |= text.failed;
}

/* The detail lines of a row as one string. Returns the index of the next row's first line. */
static size_t add_details(struct buf *b, const struct attar_section *s, uint32_t row, size_t at)
{
	struct buf lines _cleanup_(buf_done) = {0};

	for (; section_has_detail(s, row, at); at++) {
		if (lines.len)
			buf_str(&lines, " / ");
		buf_str(&lines, section_text(s, s->details.at[at].text));
	}
	buf_char(b, ',');
	html_string(b, buf_text(&lines));
	b->failed |= lines.failed;
	return at;
}

static void add_table(struct attar_renderer *r, const struct attar_section *s)
{
	struct buf *b = &r->out;
	struct number_scale *scales _cleanup_free_ = calloc(s->columns.n + 1, sizeof(*scales));
	size_t detail = 0;

	if (!scales) {
		b->failed = true;
		return;
	}
	if (s->kind == ATTAR_SECTION_TABLE)
		number_scales(scales, s, 0, s->rows, r->opts.exact);
	buf_char(b, '{');
	add_member(b, "name", section_text(s, s->name));
	add_summary(b, s);
	buf_printf(b, "\"kind\":\"%s\",\"columns\":[", section_kind_name(s->kind));
	add_columns(b, s, scales);
	buf_str(b, "],\"rows\":[");
	for (uint32_t row = 0; row < s->rows; row++) {
		buf_str(b, row ? ",\n[" : "\n[");
		for (size_t i = 0; i < s->columns.n; i++) {
			if (i)
				buf_char(b, ',');
			add_cell(b, s, &scales[i], row, i);
		}
		if (s->details.n)
			detail = add_details(b, s, row, detail);
		buf_char(b, ']');
		render_spill(r);
	}
	buf_str(b, "]}");
}

enum part { TABLES, TREES, STATES };

static enum part part_of(const struct attar_section *s)
{
	return s->kind == ATTAR_SECTION_TREE    ? TREES
	       : s->kind == ATTAR_SECTION_SPANS ? STATES
						: TABLES;
}

static struct attar_section *first_tree(const struct attar_report *report)
{
	report_each_section (report, it)
		if (part_of(*it) == TREES)
			return *it;
	return NULL;
}

static int add_sections(struct attar_renderer *r, const struct attar_report *report, enum part part)
{
	static const char *const names[] = {"tables", "trees", "states"};
	const char *comma = "";
	int n = 0;

	buf_printf(&r->out, "\"%s\":[", names[part]);
	report_each_section (report, it) {
		if (part_of(*it) != part)
			continue;
		buf_str(&r->out, comma);
		comma = ",";
		if (part == TREES)
			n = html_tree(r, *it);
		else if (part == STATES)
			n = html_states(r, *it, first_tree(report));
		else
			add_table(r, *it);
		if (n < 0)
			return n;
	}
	buf_char(&r->out, ']');
	return 0;
}

/* "2026-11-21 06:28:31" and "5.00 s"; empty if unknown. */
static void add_span(struct buf *b, const struct attar_report *report)
{
	struct buf text _cleanup_(buf_done) = {0};

	if (report->time)
		render_time(&text, report, ' ');
	add_member(b, "when", buf_text(&text));
	buf_reset(&text);
	if (report->interval_ns)
		number_scaled(&text, ATTAR_UNIT_NS, (double)report->interval_ns);
	add_member(b, "span", buf_text(&text));
	b->failed |= text.failed;
}

static void add_notes(struct buf *b, const struct attar_report *report)
{
	struct buf text _cleanup_(buf_done) = {0};

	buf_printf(b, "\"doubt\":%d,\"remarks\":[", report->has_doubt);
	for (size_t i = 0; i < report->remarks.n; i++) {
		if (i)
			buf_char(b, ',');
		html_string(b, report_text(report, report->remarks.at[i]));
	}
	buf_str(b, "],");
	if (!report->has_notes) {
		buf_str(b, "\"notes\":null,\"lost\":0,");
		return;
	}
	render_notes(&text, &report->notes);
	add_member(b, "notes", buf_text(&text));
	buf_printf(b, "\"lost\":%d,", render_notes_warn(&report->notes));
	b->failed |= text.failed;
}

static int add_data(struct attar_renderer *r, const struct attar_report *report, const char *title)
{
	struct buf *b = &r->out;
	int n;

	buf_char(b, '{');
	add_member(b, "title", title);
	add_member(b, "command", r->command ? r->command : "");
	add_member(b, "profiler", report_text(report, report->profiler));
	add_member(b, "version", attar_version());
	add_span(b, report);
	add_notes(b, report);
	n = add_sections(r, report, TABLES);
	buf_str(b, ",\n");
	if (n == 0)
		n = add_sections(r, report, TREES);
	buf_str(b, ",\n");
	if (n == 0)
		n = add_sections(r, report, STATES);
	buf_char(b, '}');
	return n;
}

/* Appends the page up to a mark. Returns what follows it. */
static const char *add_until(struct buf *b, const char *page, const char *mark)
{
	const char *found = strstr(page, mark);

	buf_add(b, page, (size_t)(found - page));
	return found + strlen(mark);
}

static int html_draw(struct attar_renderer *r, const struct attar_report *report)
{
	struct buf title _cleanup_(buf_done) = {0};
	const char *rest = html_page;
	int n;

	if (r->title)
		buf_str(&title, r->title);
	else
		buf_printf(&title, "attar %s", report_text(report, report->profiler));
	rest = add_until(&r->out, rest, title_mark);
	escape_html(&r->out, buf_text(&title), title.len);
	rest = add_until(&r->out, rest, data_mark);
	n = add_data(r, report, buf_text(&title));
	buf_str(&r->out, rest);
	r->out.failed |= title.failed;
	return n;
}

const struct render_format render_html = {
	.sink = {.name = "html",
		.extension = "html",
		.media_type = "text/html; charset=utf-8",
		.sections = RENDER_ALL | RENDER_SPANS,
		.whole_run = true,
		.has_notes = true,
		.wants_trees = true,
		.wants_states = true},
	.also = "htm",
	.draw = html_draw,
};
