/* SPDX-License-Identifier: MIT */
#include "cli/outputs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "report/model.h"

static int open_file(struct output *out, const char *path)
{
	int fd, error;

	out->path = path;
	out->created = access(path, F_OK) < 0;
	fd = TEMP_FAILURE_RETRY(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
	error = errno;
	if (fd >= 0 && (out->file = fdopen(fd, "w")))
		return 0;
	if (fd >= 0)
		close(fd);
	/* Do not return errno: the exit status 3 is for permissions of events, not of files. */
	return attar_fail(-EIO, "cannot write '%s': %s", CLIP(path), strerror(error));
}

/* Outputs may share a terminal or a pipe; in a file they would overwrite each other. */
static void identify(struct output *out, int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	out->device = st.st_dev;
	out->inode = st.st_ino;
}

static int check_unique(const struct outputs *o, const struct output *out)
{
	vec_each (&o->all, other) {
		if (!out->inode || other->inode != out->inode || other->device != out->device)
			continue;
		if (!other->path)
			return attar_fail(-EINVAL,
				"'%s' is also stdout: use a separate file for each output",
				CLIP(out->path));
		if (!strcmp(other->path, out->path))
			return attar_fail(-EINVAL,
				"'%s' is specified by two options: use a separate file for each "
				"output",
				CLIP(out->path));
		return attar_fail(-EINVAL,
			"'%s' and '%s' are the same file: use a separate file for each output",
			CLIP(other->path), CLIP(out->path));
	}
	return 0;
}

static int add(struct outputs *o, struct output *out, const char *format,
	const struct attar_render_opts *opts)
{
	int r;

	identify(out, out->path ? fileno(out->file) : STDOUT_FILENO);
	r = check_unique(o, out);
	if (r == 0)
		r = attar_renderer_new(format, out->file, opts, &out->renderer);
	if (r == 0)
		out->whole = attar_renderer_whole_run(out->renderer);
	out->tree = !strcmp(format, "html") || !strcmp(format, "folded");
	if (r == 0 && vec_push(&o->all, *out) < 0)
		r = base_oom();
	if (r < 0) {
		attar_renderer_free(out->renderer);
		if (out->path) {
			fclose(out->file);
			if (out->created)
				unlink(out->path);
		}
		return r;
	}
	o->want_whole |= out->whole;
	o->want_values |= !strcmp(format, "json");
	o->want_tree |= out->tree;
	return 0;
}

/* Rejects a format that the profiler cannot produce, before the run and before creating a file. */
static int check_format(const struct attar_profiler *profiler, const char *format)
{
	if (strcmp(format, "folded") != 0 || profiler->uses & ATTAR_GIVES_TREE)
		return 0;
	return attar_fail(-EINVAL,
		"folded output needs aggregated stacks, which 'attar %s' does not produce: use "
		"'attar profile -e EVENT'",
		profiler->name);
}

static int add_file(struct outputs *o, const char *path, const char *format,
	const struct attar_render_opts *opts)
{
	struct output out = {0};
	int r;

	if (!format)
		format = attar_format_of(path);
	if (!format)
		return attar_fail(-EINVAL,
			"--output: the extension of '%s' does not name a format: use .html, "
			".folded, .json, .csv or .txt",
			CLIP(path));
	r = check_format(o->profiler, format);
	if (r == 0)
		r = open_file(&out, path);
	return r < 0 ? r : add(o, &out, format, opts);
}

/* Folded stacks for any file name, except .html. */
static const char *flame_graph_format(const char *path)
{
	const char *format = attar_format_of(path);

	return format && !strcmp(format, "html") ? format : "folded";
}

static int add_stdout(
	struct outputs *o, const struct output_options *c, const struct attar_render_opts *files)
{
	struct attar_render_opts opts = *files;
	struct output out = {.file = stdout};
	const char *format = c->format ? c->format : "text";
	int r;

	if (c->quiet && !c->format)
		return 0;
	o->data_on_stdout = strcmp(format, "text") != 0;
	o->notes_on_stderr = !c->quiet && (!strcmp(format, "csv") || !strcmp(format, "folded"));
	console_fit(&opts);
	opts.max_rows = (unsigned)c->rows;
	r = check_format(o->profiler, format);
	return r < 0 ? r : add(o, &out, format, &opts);
}

int outputs_open(struct outputs *o, const struct attar_run *run,
	const struct output_options *options, const char *command_line)
{
	struct attar_render_opts opts = {.size = sizeof(opts),
		.command = command_line,
		.time_frames = attar_run_interval(run) != 0};
	int r;

	o->profiler = attar_run_profiler(run);
	printer_open(&o->printer);
	r = add_stdout(o, options, &opts);
	for (size_t i = 0; r == 0 && i < options->outputs.n; i++)
		r = add_file(o, options->outputs.at[i], NULL, &opts);
	for (size_t i = 0; r == 0 && i < options->flame_graphs.n; i++)
		r = add_file(o, options->flame_graphs.at[i],
			flame_graph_format(options->flame_graphs.at[i]), &opts);
	return r;
}

/* Reports a failed write by its errno, and a renderer's error by its own text. */
static int failed(const struct output *out, int error)
{
	const char *name = out->path ? out->path : "the results to stdout";
	const char *quote = out->path ? "'" : "";

	if (error == -EPIPE)
		return error;
	if (error == -EINVAL || error == -ENOMEM)
		return attar_context(-EIO, "cannot write %s%s%s", quote, name, quote);
	return attar_fail(
		-EIO, "cannot write %s%s%s: %s", quote, name, quote, console_error(-error));
}

static int draw(struct output *out, const struct attar_report *report)
{
	int r;

	if (!out->drawn && out->path && ftruncate(fileno(out->file), 0) < 0 && errno != EINVAL)
		return failed(out, -errno);
	out->drawn = true;
	r = attar_renderer_draw(out->renderer, report);
	return r < 0 ? failed(out, r) : 0;
}

/* Notes on stdout include what its reader missed since the previous notes; files miss nothing. */
static int draw_printed(struct outputs *o, struct output *out, const struct attar_report *report)
{
	struct attar_report noted = *report;

	noted.notes.unprinted = o->lines_missed - o->lines_noted;
	noted.notes.unprinted_reports = o->reports_missed - o->reports_noted;
	if (report->has_notes) {
		noted.notes.self_rss = memory_peak(); /* files have been drawn */
		o->lines_noted = o->lines_missed;
		o->reports_noted = o->reports_missed;
	}
	return draw(out, &noted);
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
	uint64_t lines = 0;

	report_each_section (report, section)
		lines += (*section)->kind == ATTAR_SECTION_EVENTS ? (*section)->rows : 0;
	return lines;
}

static bool wants(const struct output *out, enum attar_scope scope, bool intervals, uint64_t lines)
{
	if (out->failed || (out->tree && lines))
		return false;
	return scope == ATTAR_SCOPE_WHOLE ? out->whole || !intervals : !out->whole;
}

static int draw_stdout(
	struct outputs *o, struct output *out, const struct attar_report *report, uint64_t lines)
{
	if (!o->live || printer_has_room(&o->printer))
		return draw_printed(o, out, report);
	o->lines_missed += lines;
	o->reports_missed += !lines;
	return 0;
}

/* Files first: the notes on stdout include the memory that it took to draw them. */
int outputs_draw(struct outputs *o, const struct attar_report *report, enum attar_scope scope,
	bool intervals)
{
	uint64_t lines = count_lines(report);
	int result = 0;

	if (!o->live)
		printer_wait(&o->printer);
	for (int is_stdout = 0; is_stdout <= 1; is_stdout++)
		vec_each (&o->all, out) {
			int r;

			if ((out->path == NULL) != is_stdout ||
				!wants(out, scope, intervals, lines))
				continue;
			r = out->path ? draw(out, report) : draw_stdout(o, out, report, lines);
			out->failed = r < 0;
			result = result < 0 ? result : r;
		}
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
		log_warn("the reader of stdout was too slow: %llu lines were not printed",
			(unsigned long long)lines);
	if (reports)
		log_warn("the reader of stdout was too slow: the reports of %llu intervals were "
			 "not printed",
			(unsigned long long)reports);
}

int outputs_close(struct outputs *o)
{
	int result = printer_close(&o->printer);

	if (result < 0 && result != -EPIPE)
		result = failed(&(struct output){0}, result);
	report_missed(o);
	vec_each (&o->all, out) {
		int r = 0;

		attar_renderer_free(out->renderer);
		if (out->path && fclose(out->file) != 0)
			r = failed(out, -errno);
		if (out->path && out->created && !out->drawn)
			unlink(out->path);
		result = result < 0 ? result : r;
	}
	vec_done(&o->all);
	return result;
}
