/* SPDX-License-Identifier: MIT */
/* What several sinks draw and do in the same way. */
#include "report/sinks/render.h"

#include <math.h>
#include <poll.h>

#include "base/escape.h"
#include "report/model/width.h"

enum { SPILL_SIZE = 256 * 1024 };

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
void render_write_out(struct attar_renderer *r)
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
		render_write_out(r);
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
