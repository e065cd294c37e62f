/* SPDX-License-Identifier: MIT */
#include "report/sinks/render.h"

#include <locale.h>

#include "attar/private/report.h"
#include "base/check_arg.h"
#include "base/option_struct.h"
#include "report/model/fields.h"

static int copy(const char *text, char **ret_copy)
{
	char *twin = text ? strdup(text) : NULL;

	if (text && !twin)
		return base_oom();
	*ret_copy = twin;
	return 0;
}

static int open_address(struct attar_renderer *r)
{
	if (!r->format->sink.scheme)
		return 0;
	if (!r->address)
		return attar_fail(-EINVAL,
			"%s needs an address" ATTAR_FIX "use -o %s://HOST/DATABASE",
			r->format->sink.name, r->format->sink.scheme);
	return r->format->open(r);
}

int attar_renderer_new(const char *sink, FILE *out, const struct attar_render_opts *opts,
	struct attar_renderer **ret_renderer)
{
	CHECK_ARG(sink, "sink");
	CHECK_ARG(ret_renderer, "ret_renderer");

	const struct render_format *found = render_format_find(sink);
	struct attar_renderer *r;
	int e;

	if (!found)
		return -EINVAL;
	if (!found->sink.scheme)
		CHECK_ARG(out, "out");
	r = calloc(1, sizeof(*r));
	if (!r)
		return base_oom();
	r->format = found;
	r->file = out;
	if ((e = option_struct_take(&r->opts, sizeof(r->opts), opts)) < 0 ||
		(e = copy(r->opts.title, &r->title)) < 0 ||
		(e = copy(r->opts.command, &r->command)) < 0 ||
		(e = copy(r->opts.rows_hint, &r->rows_hint)) < 0 ||
		(e = copy(r->opts.address, &r->address)) < 0 || (e = open_address(r)) < 0) {
		attar_renderer_free(r);
		return e;
	}
	*ret_renderer = r;
	return 0;
}

const struct attar_sink *renderer_get_sink(const struct attar_renderer *renderer)
{
	CHECK_ARG_OR(renderer, "renderer", NULL);

	return &renderer->format->sink;
}

void renderer_resize(struct attar_renderer *renderer, unsigned columns, unsigned lines)
{
	CHECK_ARG_OR(renderer, "renderer", );

	renderer->opts.columns = columns;
	renderer->opts.lines = lines;
}

void renderer_turn(struct attar_renderer *renderer)
{
	CHECK_ARG_OR(renderer, "renderer", );

	if (renderer->format->turn)
		renderer->format->turn(renderer);
}

void renderer_get_delivery(
	struct attar_renderer *renderer, bool wait, struct attar_delivery *ret_delivery)
{
	CHECK_ARG_OR(renderer, "renderer", );
	CHECK_ARG_OR(ret_delivery, "ret_delivery", );

	*ret_delivery = (struct attar_delivery){0};
	if (renderer->format->deliver)
		renderer->format->deliver(renderer, wait, ret_delivery);
}

struct attar_renderer *attar_renderer_free(struct attar_renderer *r)
{
	if (!r)
		return NULL;
	if (r->format->close)
		r->format->close(r);
	free(r->title);
	free(r->command);
	free(r->rows_hint);
	free(r->address);
	buf_done(&r->out);
	buf_done(&r->open);
	vec_done(&r->widths);
	vec_done(&r->hidden);
	free(r);
	return NULL;
}

static int write_failed(int error)
{
	if (error == -EPIPE)
		return attar_fail(error, "the reader of the report closed the pipe");
	return attar_fail(error, "cannot write the report: %s",
		error == -EBADF ? "it is closed" : strerror(-error));
}

/* Time lines refer to trees. */
static bool draws(const struct attar_renderer *r, const struct attar_section *section)
{
	const struct attar_sink *sink = &r->format->sink;
	bool is_json = r->format == &render_json,
	     spans = sink->sections & RENDER_SPANS || (is_json && r->opts.time_lines);

	if (section->kind == ATTAR_SECTION_SPANS)
		return spans;
	if (section->is_secondary && sink->for_terminal)
		return false;
	return !section->is_for_trees || spans || sink->wants_trees || (is_json && r->opts.trees);
}

/*
 * Some sections are in a report because of one output, and would be rows of little use in others:
 * *ret_shown is the report without them. Its list of sections is to be freed.
 */
static int leave_out_sections(const struct attar_renderer *r, const struct attar_report *report,
	struct attar_report *ret_shown)
{
	*ret_shown = *report;
	ret_shown->sections = (__typeof__(report->sections)){0};
	report_each_section (report, it)
		if (draws(r, *it) && vec_push(&ret_shown->sections, *it) < 0)
			return base_oom();
	return 0;
}

void renderer_sort(struct attar_renderer *r, size_t column, bool reversed)
{
	CHECK_ARG_OR(r, "renderer", );

	r->sort_column = column;
	r->sort_reversed = reversed;
}

void renderer_limit_remarks(struct attar_renderer *r, unsigned most)
{
	CHECK_ARG_OR(r, "renderer", );

	r->max_remarks = most;
}

static void sort_tables(const struct attar_renderer *r, const struct attar_report *report)
{
	size_t column = r->sort_column - 1;

	report_each_section (report, it) {
		struct attar_section *s = *it;

		if (s->kind == ATTAR_SECTION_TABLE && column < s->columns.n)
			section_sort(s, column,
				(s->columns.at[column].unit == ATTAR_UNIT_TEXT) ==
					r->sort_reversed);
	}
}

static int render_draw(struct attar_renderer *r, const struct attar_report *report)
{
	struct attar_report shown;
	int n;

	if (r->file && fflush(r->file) != 0)
		r->error = -errno;
	if (r->sort_column)
		sort_tables(r, report);
	n = leave_out_sections(r, report, &shown);
	if (!r->format->draws_fields && n == 0)
		report_each_section (&shown, it)
			section_expand_fields(*it);
	if (n == 0 && !r->error)
		n = r->format->draw(r, &shown);
	vec_done(&shown.sections);
	if (buf_failed(&r->out) || buf_failed(&r->open))
		return base_oom();
	if (!r->file)
		return n;
	render_write_out(r);
	if (!r->error && fflush(r->file) != 0)
		r->error = -errno;
	return r->error ? write_failed(r->error) : n;
}

int attar_renderer_draw(struct attar_renderer *r, const struct attar_report *report)
{
	CHECK_ARG(r, "renderer");
	CHECK_ARG(report, "report");

	locale_t c, old;
	int n;

	if (report->fault)
		return attar_fail(report->error, "the report is incomplete: %s", report->fault);
	if (r->format->sink.whole_run && r->drawn)
		return attar_fail(-EINVAL,
			"%s output has a single report of the whole run, which was already written",
			r->format->sink.name);
	c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	if (!c)
		return base_oom();
	old = uselocale(c);
	n = render_draw(r, report);
	uselocale(old);
	freelocale(c);
	r->drawn++;
	return n;
}

int renderer_draw_noted(struct attar_renderer *r, const struct attar_report *report,
	const struct attar_notes *notes)
{
	CHECK_ARG(r, "renderer");
	CHECK_ARG(report, "report");
	CHECK_ARG(notes, "notes");

	struct attar_report noted = *report; /* its sections are borrowed */

	noted.notes = *notes;
	noted.has_notes = true;
	return attar_renderer_draw(r, &noted);
}
