/* SPDX-License-Identifier: MIT */
/* A report as text for people: headings, tables, stacks as a tree, remarks and notes. */
#include "report/sinks/text/text.h"

#include "base/escape.h"
#include "report/model/fields.h"
#include "report/model/number.h"
#include "report/model/shorten.h"
#include "report/model/width.h"

/* Switches to a style; no effect without color. */
static void text_style(struct attar_renderer *r, enum text_style style)
{
	static const char *const codes[] = {
		[TEXT_PLAIN] = "\033[0m",
		[TEXT_HEADING] = "\033[1m",
		[TEXT_DIM] = "\033[2m",
		[TEXT_HOT] = "\033[31m",
		[TEXT_WARM] = "\033[32m",
		[TEXT_WARNING] = "\033[1;33m",
	};

	if (r->opts.colour)
		buf_str(&r->out, codes[style]);
}

enum text_style text_heat(double percent)
{
	return percent >= 5 ? TEXT_HOT : percent >= 0.5 ? TEXT_WARM : TEXT_PLAIN;
}

static void add_spaces(struct buf *b, unsigned blanks)
{
	while (blanks--)
		buf_char(b, ' ');
}

static unsigned left(const struct attar_renderer *r, unsigned used)
{
	if (!r->opts.columns)
		return UINT32_MAX;
	return r->opts.columns > used ? r->opts.columns - used : 0;
}

void text_add(struct attar_renderer *r, unsigned *used, enum text_style style, const char *text)
{
	unsigned room = left(r, *used);

	if (!room || !*text)
		return;
	if (style != TEXT_PLAIN)
		text_style(r, style);
	*used += width_cut(&r->out, text, room);
	if (style != TEXT_PLAIN)
		text_style(r, TEXT_PLAIN);
}

void text_add_field(
	struct attar_renderer *r, unsigned *used, const struct text_field *field, const char *text)
{
	static const struct shorten plain;
	struct buf cut _cleanup_(buf_done) = {0};
	unsigned width, blanks;

	if (r->opts.columns) {
		shorten_add(&cut, field->shorten ?: &plain, text, field->width);
		text = buf_text(&cut);
	}
	width = width_of(text);
	blanks = field->width > width ? MIN(field->width - width, left(r, *used)) : 0;
	if (field->right) {
		add_spaces(&r->out, blanks);
		*used += blanks;
	}
	text_add(r, used, field->style, text);
	if (!field->right && !field->last) {
		blanks = MIN(blanks, left(r, *used));
		add_spaces(&r->out, blanks);
		*used += blanks;
	}
	r->out.failed |= cut.failed;
}

/* The end of the first word of text, which may start with spaces. */
static const char *word_end(const char *text)
{
	text += strspn(text, " ");
	return text + strcspn(text, " ");
}

void text_wrap(struct attar_renderer *r, enum text_style style, const char *text)
{
	text_wrap_indented(r, style, "", text);
}

void text_wrap_indented(
	struct attar_renderer *r, enum text_style style, const char *indent, const char *text)
{
	struct buf safe _cleanup_(buf_done) = {0}, word _cleanup_(buf_done) = {0};
	unsigned used = 0, begin = width_of(indent);

	escape_text(&safe, text, strlen(text));
	text_style(r, style);
	text_add(r, &used, TEXT_PLAIN, indent);
	for (const char *at = buf_text(&safe), *end; *at; at = end) {
		end = word_end(at);
		buf_reset(&word);
		buf_add(&word, at, (size_t)(end - at));
		if (used > begin && width_of(buf_text(&word)) > left(r, used)) {
			buf_char(&r->out, '\n');
			used = 0;
			text_add(r, &used, TEXT_PLAIN, indent);
		}
		text_add(r, &used, TEXT_PLAIN,
			buf_text(&word) + (used > begin ? 0 : strspn(at, " ")));
	}
	text_style(r, TEXT_PLAIN);
	buf_char(&r->out, '\n');
	r->out.failed |= safe.failed || word.failed;
}

void text_heading(struct attar_renderer *r, const char *name, const char *rest)
{
	struct buf safe _cleanup_(buf_done) = {0};
	unsigned used = 0;

	if (!*name)
		return;
	escape_text(&safe, name, strlen(name));
	text_add(r, &used, TEXT_HEADING, buf_text(&safe));
	text_add(r, &used, TEXT_DIM, rest);
	buf_char(&r->out, '\n');
	r->out.failed |= safe.failed;
}

/* Only event lines: these are printed without headings and empty lines. */
static bool only_events(const struct attar_report *report)
{
	report_each_section (report, it)
		if ((*it)->kind != ATTAR_SECTION_EVENTS)
			return false;
	return report->sections.n > 0;
}

/* "profile, 5.00 s, 2026-11-21 06:28:31" */
static void draw_head(struct attar_renderer *r, const struct attar_report *report)
{
	struct buf rest _cleanup_(buf_done) = {0};

	if (report->interval_ns) {
		buf_str(&rest, ", ");
		number_scaled(&rest, ATTAR_UNIT_NS, (double)report->interval_ns);
	}
	if (report->time) {
		buf_str(&rest, ", ");
		render_time(&rest, report, ' ');
	}
	if (rest.len) {
		text_heading(r, report_text(report, report->profiler), buf_text(&rest));
		buf_char(&r->out, '\n');
	}
	r->out.failed |= rest.failed;
}

static void draw_doubt(struct attar_renderer *r, const struct attar_report *report)
{
	text_wrap(r, TEXT_WARNING, report_text(report, report->remarks.at[0]));
	buf_char(&r->out, '\n');
}

static int draw_section(struct attar_renderer *r, struct attar_section *s)
{
	switch (s->kind) {
	case ATTAR_SECTION_TREE:
		return text_tree(r, s);
	case ATTAR_SECTION_HISTOGRAM:
		text_histogram(r, s);
		break;
	case ATTAR_SECTION_EVENTS:
		text_events(r, s);
		break;
	default:
		section_expand_fields(s);
		text_table(r, s);
	}
	return 0;
}

/* The number of remarks up to the last one that is shown. */
static size_t remarks_shown(const struct attar_renderer *r, const struct attar_report *report)
{
	size_t most = report->has_doubt + r->max_remarks,
	       n = report->remarks.n - report->n_details;

	return r->max_remarks ? MIN(most, n) : report->remarks.n;
}

static void draw_foot(struct attar_renderer *r, const struct attar_report *report)
{
	struct buf line _cleanup_(buf_done) = {0};

	size_t shown = remarks_shown(r, report), rest = report->remarks.n - shown;

	for (size_t i = report->has_doubt; i < shown; i++) {
		buf_reset(&line);
		buf_printf(&line, "note: %s", report_text(report, report->remarks.at[i]));
		text_wrap(r, TEXT_PLAIN, buf_text(&line));
	}
	if (rest) {
		buf_reset(&line);
		buf_printf(&line, "(%zu more remark%s: -v shows all)", rest, PLURAL_S(rest));
		text_wrap(r, TEXT_DIM, buf_text(&line));
	}
	if (report->has_notes && !report->is_dump) {
		buf_reset(&line);
		render_notes(&line, &report->notes);
		text_wrap(r, render_notes_warn(&report->notes) ? TEXT_WARNING : TEXT_DIM,
			buf_text(&line));
	}
	r->out.failed |= line.failed;
}

static int draw_report(struct attar_renderer *r, const struct attar_report *report)
{
	bool bare = only_events(report);
	int n;

	if (!bare) {
		if (r->drawn && !r->opts.redraw)
			buf_char(&r->out, '\n');
		if (report->has_doubt)
			draw_doubt(r, report);
		draw_head(r, report);
	}
	report_each_section (report, it) {
		n = draw_section(r, *it);
		if (n < 0)
			return n;
		if (!bare && it + 1 < report->sections.at + report->sections.n)
			buf_char(&r->out, '\n');
	}
	if (r->opts.quiet)
		return 0;
	if (!bare && report->sections.n &&
		(report->has_notes || report->remarks.n > report->has_doubt))
		buf_char(&r->out, '\n');
	draw_foot(r, report);
	return 0;
}

/* Lines of a report besides the rows of its sections: headings, notes. */
enum { LINES_BESIDES_ROWS = 9, ROWS_LEAST = 3 };

/* Limits the rows so that the notes are on the screen too, if it is not very small. */
static unsigned rows_on_screen(const struct attar_renderer *r, const struct attar_report *report)
{
	unsigned lines = r->opts.lines, sections = (unsigned)MAX(report->sections.n, (size_t)1);
	unsigned rows = lines > LINES_BESIDES_ROWS ? (lines - LINES_BESIDES_ROWS) / sections : 0;

	if (!lines)
		return r->opts.max_rows;
	rows = MAX(rows, (unsigned)ROWS_LEAST);
	return r->opts.max_rows ? MIN(r->opts.max_rows, rows) : rows;
}

static int text_draw(struct attar_renderer *r, const struct attar_report *report)
{
	unsigned max_rows = r->opts.max_rows;
	int n;

	if (!r->opts.redraw)
		return draw_report(r, report);
	r->opts.max_rows = rows_on_screen(r, report);
	n = draw_report(r, report);
	r->opts.max_rows = max_rows;
	text_replace_screen(r);
	return n;
}

const struct render_format render_text = {
	.sink = {.name = "text",
		.extension = "txt",
		.media_type = "text/plain; charset=utf-8",
		.sections = RENDER_ALL,
		.for_terminal = true,
		.has_notes = true},
	.draws_fields = true,
	.draw = text_draw,
};
