/* SPDX-License-Identifier: MIT */
/* attar diff: compares two results of a profiler. */
#include "attar/private/diff.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attar/private/report.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/user_file.h"
#include "base/vec.h"
#include "base/whole_file.h"
#include "cli/child_process.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output/outputs.h"
#include "cli/output/outputs_check.h"

enum { RESULT_MAX = 1 << 30, ROWS = 20, REPORT_STATUS_CHANGED = STATUS_FAILED };

/* The reports of one result, one for each interval. */
struct side {
	VEC(struct attar_report *) reports;
};

struct comparison {
	const char *paths[2], *folded;
	struct attar_texts outputs, from, to; /* times of BEFORE, or of both, and of AFTER */
	const char *format;
	double confidence, fail_above; /* percent; fail_above: below 0: none */
	struct attar_diff_opts opts;
	struct side sides[2];
};

/* ---- arguments ---- */

/* Percentages become shares. Nothing is significant above 100%. */
static int take_arguments(struct comparison *c, char *const *operands)
{
	if (!operands[0] || !operands[1])
		return attar_fail(
			-EINVAL, "diff requires two results" ATTAR_FIX "attar diff BEFORE AFTER");
	c->paths[0] = operands[0];
	c->paths[1] = operands[1];
	if (c->confidence >= 100)
		return attar_fail(-EINVAL, "--confidence must be below 100");
	c->opts.confidence = c->confidence / 100;
	c->opts.fail_above = c->fail_above / 100;
	if (c->format && !sink_of_stdout(c->format))
		return -EINVAL;
	vec_each (&c->outputs, path)
		if (!sink_of_file(*path))
			return -EINVAL;
	if (c->from.n > 2 || c->to.n > 2)
		return attar_fail(
			-EINVAL, "--from and --to can be given twice, for BEFORE and for AFTER");
	return 0;
}

/* ---- results ---- */

/* Reads what the command prints. Its messages go to stderr. Returns 0 or a negative errno. */
static int read_output(const char *const *argv, struct buf *text)
{
	int pipes[2], status, r;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return attar_fail(-EIO, "cannot create a pipe: %s", strerror(errno));
	pid = child_process_start(&(struct child_process){.path = "/proc/self/exe",
		.argv = (char **)argv,
		.fds = {STDIN_FILENO, pipes[1], STDERR_FILENO}});
	close(pipes[1]);
	if (pid < 0) {
		close(pipes[0]);
		return attar_fail(-EIO, "cannot run attar: %s", strerror(-pid));
	}
	r = file_read_fd(pipes[0], "the report of a recording", RESULT_MAX, text);
	close(pipes[0]);
	if (TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) < 0)
		return attar_fail(-EIO, "cannot wait for attar: %s", strerror(errno));
	if (r == 0 && status != 0)
		return attar_fail(-EBADMSG,
			"cannot create a profile from it" ATTAR_FIX
			"write a report with 'attar PROFILER --input FILE -o FILE.json' and "
			"compare that");
	return r;
}

/* The part of a recording that is compared; NULL: from its start, up to its end. */
struct range {
	const char *from, *to;
};

static const char *time_of(const struct attar_texts *times, int side)
{
	return !times->n ? NULL : times->at[times->n == 1 ? 0 : side];
}

/* A recording, which 'attar profile' turns into a report. */
static int profile_recording(const char *path, const struct range *range, struct buf *text)
{
	const char *argv[16] = {
		"attar", "profile", "-q", "-g", "--format", "json", "--input", path};
	size_t n = 8;

	if (range->from) {
		argv[n++] = "--from";
		argv[n++] = range->from;
	}
	if (range->to) {
		argv[n++] = "--to";
		argv[n++] = range->to;
	}

	buf_reset(text);
	return read_output(argv, text);
}

static bool is_recording(const struct buf *text)
{
	static const char *const starts[] = {"PERFILE2", "2ELIFREP", "# attar script"};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (!strncmp(buf_text(text), starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* Event lines cannot be compared. */
static bool has_sections(const struct attar_report *report)
{
	const struct attar_section *section;

	for (size_t i = 0; (section = attar_report_get_section(report, i)); i++)
		if (attar_section_get_kind(section) != ATTAR_SECTION_EVENTS)
			return true;
	return false;
}

/* Each line is a report. */
static int read_reports(struct side *side, const struct buf *text)
{
	const char *at = buf_text(text), *end = at + text->len;
	unsigned line = 0;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at)) ?: end;
		struct attar_report *report;
		int r = 0;

		line++;
		if (newline > at)
			r = attar_report_read_json(at, (size_t)(newline - at), &report);
		if (r < 0)
			return attar_context(r, "line %u", line);
		if (newline > at && !has_sections(report))
			attar_report_free(report);
		else if (newline > at && (r = vec_push(&side->reports, report)) < 0)
			return r;
		at = newline + 1;
	}
	return 0;
}

static bool is_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Waits for the writer of a FIFO, as cat(1) does. */
static int read_text(struct side *side, const char *path, const struct range *range)
{
	struct buf text _cleanup_(buf_done) = {0};
	int fd _cleanup_close_ = user_file_open(path, 0);
	int r;

	if (fd < 0)
		return attar_fail(-errno, "cannot open it: %s", strerror(errno));
	r = file_read_fd(fd, path, RESULT_MAX, &text);
	if (r == 0 && !is_recording(&text) && (range->from || range->to))
		r = attar_fail(-EINVAL,
			"--from and --to need recordings, and it is a report" ATTAR_FIX
			"give them to the profiler that writes the report");
	if (r == 0 && is_recording(&text))
		r = is_file(fd) ? profile_recording(path, range, &text)
				: attar_fail(-ESPIPE,
					  "a recording in a pipe cannot be compared" ATTAR_FIX
					  "write it to a file");
	return r == 0 ? read_reports(side, &text) : r;
}

static int take_report(void *ctx, struct attar_report *report)
{
	struct side *side = ctx;
	int r = has_sections(report) ? vec_push(&side->reports, report) : 1;

	if (r != 0)
		attar_report_free(report);
	return MIN(r, 0);
}

static int read_result(struct side *side, const char *path, const struct range *range)
{
	int r = report_read_database(path, take_report, side);

	if (r > 0 && (range->from || range->to))
		r = attar_fail(-EINVAL, "--from and --to need recordings, and it is a database");
	if (r == 0)
		r = read_text(side, path, range);
	if (r >= 0 && !side->reports.n)
		r = attar_fail(-EBADMSG, "it has no table, histogram or call tree");
	return r < 0 ? attar_context(r, "cannot read '%s'", CLIP(path)) : 0;
}

/* ---- output ---- */

/* A file that the results replace when they are complete. */
struct result_file {
	struct whole_file whole;
	FILE *file;
};

static int open_result(struct result_file *result, const char *path, bool needs_name)
{
	int fd = whole_file_begin(
		&result->whole, path, place_default_mode(), needs_name ? WHOLE_FILE_NAMED : 0);

	if (fd < 0)
		return fd;
	result->file = fdopen(fd, "w");
	if (result->file)
		return 0;
	whole_file_finish(&result->whole, fd, false);
	close(fd);
	return -ENOMEM;
}

/* r: of the writes before. */
static int close_result(struct result_file *result, int r)
{
	int error;

	if (fflush(result->file) != 0 && r == 0)
		r = -errno;
	error = whole_file_finish(&result->whole, fileno(result->file), r == 0);
	fclose(result->file);
	return r < 0 ? r : error;
}

static int draw_report(const struct attar_report *report, const char *sink, FILE *file,
	struct attar_render_opts *opts)
{
	struct attar_renderer *renderer = NULL;
	int r;

	opts->max_rows = ROWS;
	opts->rows_hint = "-o FILE.csv shows all";
	r = attar_renderer_new(sink, file, opts, &renderer);
	if (r == 0)
		r = attar_renderer_draw(renderer, report);
	attar_renderer_free(renderer);
	return r;
}

static int print_result(const struct attar_report *report, const char *sink)
{
	struct attar_render_opts opts = {.size = sizeof(opts)};

	console_fit(&opts);
	return draw_report(report, sink, stdout, &opts);
}

static int cannot_write(const char *path, int error)
{
	return attar_fail(-EIO, "cannot write '%s': %s", CLIP(path), place_error(-error));
}

static int write_report(const struct attar_report *report, const char *path)
{
	const struct attar_sink *sink = sink_of_file(path);
	struct attar_render_opts opts = {.size = sizeof(opts)};
	struct result_file result = {0};
	int r = open_result(&result, path, sink->is_binary && !sink->whole_run), drawn;

	if (r < 0)
		return cannot_write(path, r);
	drawn = draw_report(report, sink->name, result.file, &opts);
	r = close_result(&result, drawn);
	if (drawn < 0)
		return attar_context(drawn, "cannot write '%s'", CLIP(path));
	return r < 0 ? cannot_write(path, r) : 0;
}

static struct attar_diff_side reports_of(const struct comparison *c, int side)
{
	return (struct attar_diff_side){
		(const struct attar_report *const *)c->sides[side].reports.at,
		c->sides[side].reports.n};
}

static int write_folded(const struct comparison *c)
{
	const struct attar_diff_side before = reports_of(c, 0), after = reports_of(c, 1);
	struct result_file result = {0};
	int r = open_result(&result, c->folded, false);

	if (r == 0)
		r = close_result(&result, diff_folded_reports(&before, &after, result.file));
	return r < 0 && r != -ENOMEM ? cannot_write(c->folded, r) : r;
}

/* Whether an output draws trees best. */
static bool wants_trees(const struct comparison *c)
{
	vec_each (&c->outputs, path)
		if (sink_of_file(*path)->wants_trees)
			return true;
	return c->format && attar_sink_find(c->format)->wants_trees;
}

static int write_all(const struct comparison *c, const struct attar_report *report)
{
	const char *sink = c->format ?: attar_sinks()[0]->name;
	int r = print_result(report, sink);

	if (r == -EPIPE)
		r = 0;
	vec_each (&c->outputs, path)
		if (r == 0)
			r = write_report(report, *path);
	return r == 0 && c->folded ? write_folded(c) : r;
}

static void add_remarks(const struct comparison *c, const struct attar_diff_result *result,
	struct attar_report *report)
{
	for (int side = 0; side < 2; side++) {
		uint64_t ns = 0, interval;

		vec_each (&c->sides[side].reports, it) {
			attar_report_get_interval(*it, NULL, &interval);
			ns += interval;
		}
		attar_report_remark(report, "%s: %zu report%s, %.3f s, %s",
			side ? "after" : "before", c->sides[side].reports.n,
			PLURAL_S(c->sides[side].reports.n), (double)ns * 1e-9, c->paths[side]);
	}
	attar_report_remark(report, "significant changes, with a confidence of at least %g%%: %llu",
		c->opts.confidence * 100, (unsigned long long)result->significant);
	if (c->opts.fail_above >= 0)
		attar_report_remark(report,
			"significant changes larger than --fail-above %g%%: %llu",
			c->opts.fail_above * 100, (unsigned long long)result->beyond);
}

static int diff_compare(struct comparison *c, struct attar_diff_result *result)
{
	struct attar_report *report = attar_report_new("diff");
	int r = report ? 0 : base_oom();

	c->opts.want_trees = wants_trees(c);
	for (int side = 0; side < 2 && r == 0; side++) {
		const struct range range = {time_of(&c->from, side), time_of(&c->to, side)};

		r = read_result(&c->sides[side], c->paths[side], &range);
	}
	if (r == 0) {
		const struct attar_diff_side before = reports_of(c, 0), after = reports_of(c, 1);

		r = diff_reports(&before, &after, &c->opts, report, result);
	}
	if (r == 0) {
		add_remarks(c, result, report);
		r = write_all(c, report);
	}
	attar_report_free(report);
	return r;
}

static int diff_run(void *state, const struct command_words *words)
{
	struct comparison *c = state;
	struct attar_diff_result result = {0};
	int status = STATUS_OK;

	c->opts.size = sizeof(c->opts);
	if (take_arguments(c, words->operands) < 0 || diff_compare(c, &result) < 0)
		status = report_error(STATUS_USAGE);
	else if (result.beyond)
		status = STATUS_FAILED;
	for (int side = 0; side < 2; side++) {
		vec_each (&c->sides[side].reports, it)
			attar_report_free(*it);
		vec_done(&c->sides[side].reports);
	}
	return status;
}

#define T struct comparison

static const struct attar_option diff_options[] = {
	ATTAR_PERCENT(T, fail_above, 0, "fail-above", "PCT",
		"exit with status 1 if a significant change is larger than this percentage of the "
		"value before, or than this number of percentage points for values in percent",
		.max = 1000000),
	ATTAR_PERCENT(T, confidence, 0, "confidence", "PCT",
		"the minimum confidence of significant changes, from 50 to below 100 (default 99)",
		.min = 50),
	ATTAR_LIST(T, outputs, 'o', "output", "FILE",
		"also write the differences to FILE, in the format given by its extension; may be "
		"repeated",
		.complete = "file"),
	ATTAR_LIST(T, from, 0, "from", "TIME",
		"of recordings, only the part from TIME on, as --from of profilers; given twice: "
		"of BEFORE and of AFTER"),
	ATTAR_LIST(T, to, 0, "to", "TIME", "only the part up to TIME; likewise"),
	ATTAR_TEXT(T, format, 0, "format", "NAME", "format of stdout", .complete = "format"),
	ATTAR_TEXT(T, folded, 0, "folded", "FILE",
		"write folded stacks with both weights, for other tools", .complete = "file"),
	{0}};

static const struct command_operand diff_operands[] = {
	{"BEFORE AFTER", "results in JSON (-o FILE.json), databases (-o FILE.db), or recordings, "
			 "whose profiles are compared; exit status 2: an error"},
	{0},
};

static const struct attar_example diff_examples[] = {
	{"diff before.json after.json", "significant changes between two results"},
	{"diff before.json after.json --fail-above 5%", "for CI: fail if one is above 5 %"},
	{"diff --from 0 --to 10 --from 30 --to 40 perf.data perf.data",
		"two parts of one recording"},
	{0},
};

const struct command command_diff = {
	.name = "diff",
	.usage = "[OPTIONS] BEFORE AFTER",
	.summary = "compare two results of a profiler",
	.operands = diff_operands,
	.options = diff_options,
	.state_size = sizeof(T),
	.defaults = &(const T){.confidence = 99, .fail_above = -100},
	.max_operands = 2,
	.complete = "file",
	.examples = diff_examples,
	.run = diff_run,
};
