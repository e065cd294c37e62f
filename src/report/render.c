/* SPDX-License-Identifier: MIT */
#include "report/render.h"

#include <locale.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>

#include "base/check_arg.h"
#include "base/escape.h"
#include "base/option_struct.h"
#include "report/fields.h"
#include "report/number.h"
#include "report/width.h"

enum { SPILL_SIZE = 256 * 1024 };

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

const struct attar_sink *attar_renderer_get_sink(const struct attar_renderer *renderer)
{
	CHECK_ARG_OR(renderer, "renderer", NULL);

	return &renderer->format->sink;
}

void attar_renderer_resize(struct attar_renderer *renderer, unsigned columns, unsigned lines)
{
	CHECK_ARG_OR(renderer, "renderer", );

	renderer->opts.columns = columns;
	renderer->opts.lines = lines;
}

void attar_renderer_turn(struct attar_renderer *renderer)
{
	CHECK_ARG_OR(renderer, "renderer", );

	if (renderer->format->turn)
		renderer->format->turn(renderer);
}

void attar_renderer_get_delivery(
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
	free(r);
	return NULL;
}

/* Waits for a slow reader if the descriptor is non-blocking. */
static int write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t w = write(fd, bytes, n);

		if (w < 0 && errno == EAGAIN) {
			struct pollfd p = {.fd = fd, .events = POLLOUT};

			poll(&p, 1, -1);
		} else if (w < 0 && errno != EINTR) {
			return -errno;
		} else if (w > 0) {
			bytes += w;
			n -= (size_t)w;
		}
	}
	return 0;
}

/*
 * Bypasses stdio if there is a descriptor: stdio does not report how much of an interrupted write
 * was written.
 */
static void write_out(struct attar_renderer *r)
{
	int fd = fileno(r->file);

	if (r->opts.ascii && r->format->sink.for_terminal && r->out.len)
		width_make_ascii(&r->out);
	if (r->error || !r->out.len) {
	} else if (fd >= 0) {
		r->error = write_all(fd, r->out.data, r->out.len);
	} else if (fwrite(r->out.data, 1, r->out.len, r->file) != r->out.len) {
		r->error = errno ? -errno : -EIO;
	}
	buf_reset(&r->out);
}

void render_spill(struct attar_renderer *r)
{
	if (r->out.len >= SPILL_SIZE && !r->opts.redraw)
		write_out(r);
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

void attar_renderer_sort(struct attar_renderer *r, size_t column, bool reversed)
{
	CHECK_ARG_OR(r, "renderer", );

	r->sort_column = column;
	r->sort_reversed = reversed;
}

static void sort_tables(const struct attar_renderer *r, const struct attar_report *report)
{
	size_t column = r->sort_column - 1;

	report_each_section (report, it) {
		struct attar_section *s = *it;

		if (s->kind == ATTAR_SECTION_TABLE && column < s->columns.n)
			attar_section_sort(s, column,
				(s->columns.at[column].unit == ATTAR_UNIT_TEXT) ==
					r->sort_reversed);
	}
}

static int draw(struct attar_renderer *r, const struct attar_report *report)
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
	write_out(r);
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
	n = draw(r, report);
	uselocale(old);
	freelocale(c);
	r->drawn++;
	return n;
}

int attar_renderer_draw_noted(struct attar_renderer *r, const struct attar_report *report,
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

int render_no_stacks(const struct attar_renderer *r, const struct attar_report *report)
{
	return attar_fail(-EINVAL,
		"%s output needs call stacks, but '%s' recorded none" ATTAR_FIX
		"use -g, in Python stacks=True",
		r->format->sink.name, CLIP(report_text(report, report->profiler)));
}

void render_time(struct buf *b, const struct attar_report *report, char between)
{
	struct number_moment m = number_moment(report->time);

	if (!report->has_no_date) {
		buf_printf(b, "%s%c%s", m.date, between, m.clock);
		return;
	}
	number_cell(b, ATTAR_UNIT_CLOCK, (struct cell){CELL_U64, .u64 = report->time});
	buf_str(b, " s");
}

bool render_notes_warn(const struct attar_notes *notes)
{
	return notes->lost || notes->lost_side_band || notes->missing || notes->unprinted ||
	       notes->unprinted_reports || notes->unstored;
}

static void add_part(struct buf *b, uint64_t n, const char *what)
{
	buf_grouped(b, n);
	buf_printf(b, " %s", what);
}

static void add_sampling(struct buf *b, const struct attar_notes *notes)
{
	add_part(b, notes->seen, notes->seen == 1 ? "sample seen, " : "samples seen, ");
	add_part(b, notes->lost, "lost");
	if (notes->lost)
		buf_printf(b, " (%.2f%%)",
			100.0 * (double)notes->lost / ((double)notes->lost + (double)notes->seen));
	buf_str(b, ", ");
	add_part(b, notes->throttled, "throttled");
	if (notes->missing) {
		buf_str(b, ", ");
		add_part(b, notes->missing, "missing");
	}
	if (notes->lost_side_band) {
		buf_str(b, ", ");
		add_part(b, notes->lost_side_band,
			notes->lost_side_band == 1 ? "side-band record lost"
						   : "side-band records lost");
	}
	buf_str(b, "; ");
	if (notes->unresolved >= 0)
		buf_printf(
			b, "%.1f%% of samples in code without a name; ", notes->unresolved * 100);
}

static void add_unprinted(struct buf *b, uint64_t n, const char *one, const char *many)
{
	if (!n)
		return;
	add_part(b, n, n == 1 ? one : many);
	buf_str(b, " not printed because the reader was too slow; ");
}

void render_notes(struct buf *b, const struct attar_notes *notes)
{
	if (!notes->counting)
		add_sampling(b, notes);
	add_unprinted(b, notes->unprinted, "line", "lines");
	add_unprinted(b, notes->unprinted_reports, "report", "reports");
	if (notes->unstored) {
		add_part(b, notes->unstored, notes->unstored == 1 ? "row" : "rows");
		buf_str(b, " not stored in the database; ");
	}
	if (notes->buffer_peak) {
		number_scaled(b, ATTAR_UNIT_BYTES, (double)notes->buffer_peak);
		buf_str(b, " of the print buffer of ");
		number_scaled(b, ATTAR_UNIT_BYTES, (double)notes->buffer_size);
		buf_str(b, " used; ");
	}
	buf_str(b, "attar itself: ");
	if (isfinite(notes->self_cpu) && notes->self_cpu >= 0)
		buf_printf(b, "%.1f%% of a CPU, ", notes->self_cpu * 100);
	number_scaled(b, ATTAR_UNIT_BYTES, (double)notes->self_rss);
	buf_str(b, " peak");
}

void render_log_notes(const struct attar_renderer *r, const struct attar_report *report)
{
	struct buf line _cleanup_(buf_done) = {0};

	if (r->opts.quiet || r->file != stdout)
		return;
	for (size_t i = 0; i < report->remarks.n; i++) {
		const char *text = report_text(report, report->remarks.at[i]);

		buf_reset(&line);
		escape_text(&line, text, strlen(text));
		log_note("%s", buf_text(&line));
	}
	buf_reset(&line);
	if (!report->has_notes)
		return;
	render_notes(&line, &report->notes);
	log_note("%s", buf_text(&line));
}
