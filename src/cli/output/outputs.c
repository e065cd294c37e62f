/* SPDX-License-Identifier: MIT */
#include "cli/output/outputs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "attar/private/report.h"
#include "base/base.h"
#include "base/memory.h"
#include "base/place.h"
#include "cli/cli.h"
#include "cli/output/atomic_file.h"
#include "cli/output/outputs_open.h"

static void truncate_file(void *ctx, struct file_written *written)
{
	(void)ctx;
	if (ftruncate(written->fd, 0) < 0 && errno != EINVAL)
		written->error = -errno;
}

/* Returns 0 or a negative errno. Pipes and devices have nothing to remove. */
static int empty(struct output *out)
{
	if (out->is_empty || !out->path || !out->file || out->memory)
		return 0;
	if (out->writer) {
		out->is_empty = true;
		return file_writer_then(out->writer, truncate_file, NULL);
	}
	if (ftruncate(output_descriptor(out), 0) < 0 && errno != EINVAL)
		return -errno;
	out->is_empty = true;
	return 0;
}

void outputs_empty(struct outputs *o)
{
	vec_each (&o->all, out)
		if (!out->sink->whole_run && attar_run_interval(o->run))
			empty(out); /* the first write reports a failure */
}

void outputs_turn(struct outputs *o)
{
	vec_each (&o->all, out)
		if (out->sink->scheme)
			renderer_turn(out->renderer);
}

void outputs_resize(struct outputs *o)
{
	struct attar_render_opts opts = {.size = sizeof(opts)};

	console_fit(&opts);
	vec_each (&o->all, out)
		if (!out->path)
			renderer_resize(out->renderer, opts.columns, opts.lines);
}

/* Each failure has one line: the former one is reported before this one takes its place. */
static void keep_failure(struct outputs *o)
{
	struct buf text = {0};

	buf_str(&text, attar_error());
	if (o->failure.len && strcmp(buf_text(&o->failure), buf_text(&text)) != 0) {
		attar_fail(-EIO, "%s", buf_text(&o->failure));
		report_error(STATUS_FAILED);
		attar_fail(-EIO, "%s", buf_text(&text));
	}
	buf_done(&o->failure);
	o->failure = text;
}

/* Bytes that the reader of a pipe did not take before the wait for it ended. */
static uint64_t unwritten(const struct outputs *o, const struct output *out)
{
	if (!out->path)
		return printer_unwritten(&o->printer);
	return out->writer ? file_writer_unwritten(out->writer) : 0;
}

/* Reports a failed write by its errno, and a renderer's error by its own text. */
static int failed(struct outputs *o, const struct output *out, int error)
{
	const char *name = out->path ? out->path : "the results to stdout";
	const char *quote = out->path ? "'" : "";

	if (error == -EPIPE)
		return error;
	if (error == -ETIMEDOUT)
		attar_fail(-EIO, "cannot write %s%s%s: its reader did not read the last %llu bytes",
			quote, name, quote, (unsigned long long)unwritten(o, out));
	else if (error == -EINVAL || error == -ENOMEM)
		attar_context(-EIO, "cannot write %s%s%s", quote, name, quote);
	else
		attar_fail(
			-EIO, "cannot write %s%s%s: %s", quote, name, quote, console_error(-error));
	keep_failure(o);
	return -EIO;
}

/* A report, with notes of the outputs in place of its own; NULL: it has none. */
struct drawing {
	const struct attar_report *report;
	const struct attar_notes *notes;
	bool is_whole; /* of a whole run, without lines of events before */
};

static int render(struct output *out, const struct drawing *d)
{
	return d->notes ? renderer_draw_noted(out->renderer, d->report, d->notes)
			: attar_renderer_draw(out->renderer, d->report);
}

static int draw_replaced(struct outputs *o, struct output *out, const struct drawing *d)
{
	int r;

	rewind(out->file);
	r = render(out, d);
	if (r == 0 && fflush(out->file) != 0)
		r = -errno;
	if (r == 0)
		r = replace_file(out->path, out->mode, out->memory->text, out->memory->size);
	out->drawn = true;
	return r < 0 ? failed(o, out, r) : 0;
}

/* Reports an error of the rotation by its own text. */
static int failed_rotation(struct outputs *o)
{
	keep_failure(o);
	return -EIO;
}

/* What follows is drawn in another file. A thread that writes goes on with it. */
static int end_file(struct outputs *o, struct output *out)
{
	out->renderer = attar_renderer_free(out->renderer);
	if (out->writer)
		return 0;
	return fclose(TAKE_PTR(out->file)) == 0 ? 0 : failed(o, out, -errno);
}

static int begin_renderer(struct outputs *o, struct output *out)
{
	int r = attar_renderer_new(out->sink->name, out->file, &o->opts, &out->renderer);

	return r < 0 ? failed(o, out, r) : 0;
}

/*
 * When the interval of a report began. Lines of the interval can have been drawn before, unless the
 * clock was set back since. The times of a recording are of another day.
 */
static uint64_t begin_of(
	const struct outputs *o, struct output *out, const struct attar_report *report)
{
	uint64_t end, interval, drawn_at = out->drawn_at, now = base_realtime();

	if (!attar_run_is_live(o->run)) {
		out->drawn_at = now;
		return drawn_at;
	}
	attar_report_get_interval(report, &end, &interval);
	out->drawn_at = drawn_at > now ? end - interval : MAX(drawn_at, end - interval);
	return out->drawn_at;
}

/*
 * Ends the file if the interval of the report is of another one; formats with one report have a
 * file for each interval.
 */
static int rotate(struct outputs *o, struct output *out, const struct attar_report *report)
{
	uint64_t begun = begin_of(o, out, report);
	int r;

	if (!out->drawn || (!out->sink->whole_run && !rotation_is_due(&out->rotation, begun)))
		return 0;
	r = end_file(o, out);
	if (r < 0)
		return r;
	r = output_open_rotated(out, begun);
	return r < 0 ? failed_rotation(o) : begin_renderer(o, out);
}

/* Deletes old files over the quota, when the sizes of all but the current one are known. */
static int keep_quota(struct outputs *o, struct output *out)
{
	struct stat st = {0};
	uint64_t own;

	if (!out->rotation.max_bytes || (out->writer && file_writer_has_steps(out->writer)))
		return 0;
	if (!out->writer && (fflush(out->file) != 0 || fstat(fileno(out->file), &st) < 0))
		return failed(o, out, -errno);
	own = out->writer ? file_writer_given(out->writer) : (uint64_t)st.st_size;
	return rotation_keep(&out->rotation, own) < 0 ? failed_rotation(o) : 0;
}

static int draw_rotated(struct outputs *o, struct output *out, const struct drawing *d)
{
	int r = rotate(o, out, d->report);

	if (r < 0)
		return r;
	out->drawn = true;
	r = render(out, d);
	return r < 0 ? failed(o, out, r) : keep_quota(o, out);
}

/* Whether the path of a file that grows names another file, or none. */
static bool is_moved(const struct output *out)
{
	struct stat st;

	if (!out->inode || !out->file || out->failed || out->memory || out->rotation.pattern ||
		out->sink->whole_run || out->sink->is_binary)
		return false;
	return stat(out->path, &st) < 0 || st.st_dev != out->device || st.st_ino != out->inode;
}

static int reopen(struct outputs *o, struct output *out)
{
	int r = end_file(o, out);

	if (r < 0)
		return r;
	out->is_empty = out->drawn = false;
	r = output_open_file(out, out->path);
	if (r < 0) {
		keep_failure(o);
		return r;
	}
	output_identify(out);
	return begin_renderer(o, out);
}

int outputs_reopen(struct outputs *o)
{
	int result = 0;

	vec_each (&o->all, out) {
		int r = out->path && is_moved(out) ? reopen(o, out) : 0;

		out->failed |= r < 0;
		result = result < 0 ? result : r;
	}
	return result;
}

/* The report is the first and last one of a regular file, which it replaces. */
static bool is_replaced(const struct output *out, const struct drawing *d)
{
	return d->is_whole && out->inode && !out->drawn && !out->memory && out->path &&
	       !out->appends;
}

/* What is drawn goes to a new file, which replaces the former one when the output is closed. */
static int begin_whole(struct outputs *o, struct output *out)
{
	bool needs_name = out->sink->is_binary && !out->sink->whole_run;
	int fd = whole_file_begin(
		    &out->whole, out->path, out->mode, needs_name ? WHOLE_FILE_NAMED : 0),
	    r;

	if (fd < 0)
		return failed(o, out, fd);
	out->is_empty = true;
	out->is_replaced = out->whole.replaces;
	r = end_file(o, out);
	if (r < 0)
		close(fd);
	else
		r = output_direct_to(out, fd);
	return r < 0 ? r : begin_renderer(o, out);
}

/* 0 or a negative errno: the former file remains then. */
static int end_whole(struct outputs *o, struct output *out)
{
	int r = out->failed ? 0 : out->writer ? file_writer_wait(out->writer) : 0;

	if (!out->failed && !out->writer && fflush(out->file) != 0)
		r = -errno;
	if (out->whole.replaces && (out->writer || out->file)) {
		int error = whole_file_finish(
			&out->whole, output_descriptor(out), !out->failed && r == 0);

		r = r < 0 ? r : error;
	}
	if (r == 0)
		return 0;
	r = failed(o, out, r);
	out->failed = true;
	return r;
}

static int draw(struct outputs *o, struct output *out, const struct drawing *d)
{
	int r;

	if (out->rotation.pattern)
		return draw_rotated(o, out, d);
	if (is_replaced(out, d)) {
		r = begin_whole(o, out);
		if (r < 0)
			return r;
	}
	r = empty(out);
	if (r < 0)
		return failed(o, out, r);
	if (out->memory)
		return draw_replaced(o, out, d);
	out->drawn = true;
	r = render(out, d);
	return r < 0 ? failed(o, out, r) : 0;
}

/* Notes on stdout include what its reader missed since the previous notes; files miss nothing. */
static int draw_printed(struct outputs *o, struct output *out, const struct drawing *d)
{
	struct attar_notes notes;

	if (o->redraws)
		terminal_keys_sort(&o->keys, d->report, out->renderer);
	if (!d->notes)
		return draw(o, out, d);
	notes = *d->notes;
	notes.unprinted = o->lines_missed - o->lines_noted;
	notes.unprinted_reports = o->reports_missed - o->reports_noted;
	notes.self_rss = memory_peak(); /* files have been drawn */
	o->lines_noted = o->lines_missed;
	o->reports_noted = o->reports_missed;
	return draw(o, out, &(struct drawing){d->report, &notes, d->is_whole});
}

bool outputs_are_ready(struct outputs *o)
{
	vec_each (&o->all, out)
		if (out->writer && !file_writer_is_ready(out->writer))
			return false;
	return printer_is_ready(&o->printer);
}

bool outputs_remain(const struct outputs *o)
{
	vec_each (&o->all, out)
		if (!out->failed)
			return true;
	return false;
}

/* The number of event lines in the report; 0: it contains tables. */
static uint64_t count_lines(const struct attar_report *report)
{
	const struct attar_section *section;
	uint64_t lines = 0;

	for (size_t i = 0; (section = attar_report_get_section(report, i)); i++)
		if (attar_section_get_kind(section) == ATTAR_SECTION_EVENTS)
			lines += attar_section_get_rows(section);
	return lines;
}

static bool wants(const struct output *out, enum attar_scope scope, bool intervals, uint64_t lines)
{
	bool whole = out->sink->whole_run && !out->rotation.pattern;

	if (out->failed || (lines && (out->sink->whole_run || !sink_draws_lines(out->sink))))
		return false;
	return scope == ATTAR_SCOPE_WHOLE ? whole || !intervals : !whole;
}

static int draw_stdout(
	struct outputs *o, struct output *out, const struct drawing *d, uint64_t lines)
{
	if (!o->live || printer_has_room(&o->printer))
		return draw_printed(o, out, d);
	o->lines_missed += lines;
	o->reports_missed += !lines;
	return 0;
}

/* Which outputs are drawn one after the other. */
enum kind { DATABASES, FILES, STDOUT, KINDS };

static enum kind kind_of(const struct output *out)
{
	return out->sink->scheme ? DATABASES : out->path ? FILES : STDOUT;
}

static int draw_kind(struct outputs *o, enum kind kind, const struct drawing *d,
	enum attar_scope scope, bool intervals)
{
	uint64_t lines = count_lines(d->report);
	int result = 0;

	vec_each (&o->all, out) {
		int r;

		if (kind_of(out) != kind || !wants(out, scope, intervals, lines))
			continue;
		r = kind == STDOUT ? draw_stdout(o, out, d, lines) : draw(o, out, d);
		out->failed = r < 0;
		result = result < 0 ? result : r;
	}
	return result;
}

/* The rows that neither databases nor their spools accepted. */
static void note_unstored(
	struct outputs *o, struct attar_notes *notes, enum attar_scope scope, bool wait)
{
	uint64_t dropped = 0;

	vec_each (&o->all, out) {
		struct attar_delivery delivery = {0};

		if (out->sink->scheme)
			renderer_get_delivery(out->renderer, wait, &delivery);
		dropped += delivery.dropped;
	}
	notes->unstored = dropped;
	if (scope == ATTAR_SCOPE_WHOLE)
		return;
	notes->unstored -= o->unstored_noted;
	o->unstored_noted = dropped;
}

/*
 * Databases first: the notes of the others count the rows that these did not accept. Then files:
 * the notes on stdout include the memory that it took to draw them.
 */
int outputs_draw(struct outputs *o, const struct attar_report *report, enum attar_scope scope,
	bool intervals)
{
	struct attar_notes notes;
	bool has_notes = attar_report_get_notes(report, &notes) == 0;
	uint64_t lines = count_lines(report);
	const struct drawing d = {
		report, has_notes ? &notes : NULL, scope == ATTAR_SCOPE_WHOLE && !lines};
	int result = 0;

	if (!o->live)
		printer_wait(&o->printer);
	for (enum kind kind = DATABASES; kind < KINDS; kind++) {
		int r = draw_kind(o, kind, &d, scope, intervals);

		result = result < 0 ? result : r;
		if (kind == DATABASES && has_notes)
			note_unstored(o, &notes, scope, o->has_ended);
	}
	if (o->served.server && scope == ATTAR_SCOPE_INTERVAL && !lines && result == 0)
		result = report_server_draw(&o->served, report);
	return result;
}

/* Each loss is reported on stderr once. */
static void report_missed(const struct outputs *o)
{
	uint64_t lines = o->lines_missed, reports = o->reports_missed;

	if (o->notes_on_stderr) {
		lines -= o->lines_noted;
		reports -= o->reports_noted;
	}
	if (lines)
		log_warn("the reader of stdout was too slow: %llu line%s not printed; use a "
			 "larger --buffer, or -o FILE for all lines",
			(unsigned long long)lines, lines == 1 ? " was" : "s were");
	if (reports)
		log_warn("the reader of stdout was too slow: the reports of %llu interval%s were "
			 "not printed",
			(unsigned long long)reports, PLURAL_S(reports));
}

/* A full disk must not collect empty files of the restarts of an agent. */
static bool has_nothing(const struct output *out)
{
	struct stat st;

	return out->rotation.pattern && stat(out->path, &st) == 0 && st.st_size == 0;
}

/* An empty file, created to see whether it can be written, that is to be removed. */
static bool is_unused(const struct output *out)
{
	return out->path && out->created &&
	       (!out->drawn || has_nothing(out) || (out->is_replaced && out->failed));
}

/* A quota can have waited until former files were written. */
static int end_rotation(struct outputs *o, struct output *out)
{
	bool is_behind = out->writer && out->rotation.pattern && !out->failed;

	return is_behind && file_writer_wait(out->writer) == 0 ? keep_quota(o, out) : 0;
}

int outputs_close(struct outputs *o)
{
	int result = printer_close(&o->printer);

	terminal_keys_close(&o->keys);
	report_server_close(&o->served);
	if (result < 0 && result != -EPIPE)
		result = failed(o, &(struct output){0}, result);
	report_missed(o);
	vec_each (&o->all, out) {
		int r;

		attar_renderer_free(out->renderer);
		r = end_rotation(o, out);
		if (out->path && out->file && !out->memory && r == 0)
			r = end_whole(o, out);
		if (out->path && output_close_file(out) != 0 && !out->failed)
			r = failed(o, out, -errno);
		if (is_unused(out))
			place_unlink_path(out->path);
		free(out->numbered);
		rotation_done(&out->rotation);
		result = result < 0 ? result : r;
	}
	vec_done(&o->all);
	vec_each (&o->names, name)
		free(*name);
	vec_done(&o->names);
	buf_done(&o->failure);
	return result;
}
