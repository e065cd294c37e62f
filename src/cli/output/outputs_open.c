/* SPDX-License-Identifier: MIT */
#include "cli/output/outputs_open.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "attar/private/report.h"
#include "base/base.h"
#include "base/place.h"
#include "cli/output/append.h"
#include "cli/output/atomic_file.h"
#include "cli/cli.h"
#include "cli/output/outputs_check.h"
#include "cli/perf_prof.h"
#include "cli/signals.h"

/* Do not return errno: the exit status 3 is for permissions of events, not of files. */
static int cannot_write(const struct output *out, int error)
{
	return attar_fail(-EIO, "cannot write '%s': %s", CLIP(out->path), place_error(error));
}

static FILE *open_stream(struct output *out, int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
		return file_stream_open_pipe(fd, out->limit, &out->writer);
	return out->is_slow ? file_stream_open(fd, &out->writer) : fdopen(fd, "w");
}

int output_direct_to(struct output *out, int fd)
{
	if (out->writer) {
		file_writer_continue(out->writer, fd); /* a later write fails, too */
		return 0;
	}
	out->file = open_stream(out, fd);
	return out->file ? 0 : cannot_write(out, errno);
}

int output_open_file(struct output *out, const char *path)
{
	int fd;

	out->path = path;
	out->created = access(path, F_OK) < 0;
	fd = out->appends ? append_open(path, out->mode, out->sink)
			  : place_open_result(path, O_WRONLY | O_CREAT, out->mode);
	out->is_empty |= out->appends;
	return fd < 0 ? cannot_write(out, -fd) : output_direct_to(out, fd);
}

static int open_memory(struct output *out, const char *path)
{
	int r = replace_check(path);

	out->path = path;
	if (r < 0)
		return cannot_write(out, -r);
	out->memory = calloc(1, sizeof(*out->memory));
	if (out->memory && (out->memory->identity = replace_identity(path)))
		out->file = open_memstream(&out->memory->text, &out->memory->size);
	if (out->file)
		return 0;
	if (out->memory)
		free(out->memory->identity);
	free(out->memory);
	return base_oom();
}

/* Closes the file of an output. Returns 0, or -1 with errno. */
int output_close_file(struct output *out)
{
	int r = out->file ? fclose(out->file) : 0;

	if (out->memory) {
		free(out->memory->text);
		free(out->memory->identity);
	}
	free(out->memory);
	out->memory = NULL;
	return r;
}

int output_descriptor(const struct output *out)
{
	return !out->path    ? STDOUT_FILENO
	       : out->writer ? file_writer_fd(out->writer)
			     : fileno(out->file);
}

/* Outputs may share a terminal or a pipe; in a file they would overwrite each other. */
void output_identify(struct output *out)
{
	struct stat st;
	int r;

	if (out->memory)
		r = stat(out->path, &st);
	else
		r = fstat(output_descriptor(out), &st);
	out->is_special = r == 0 && !S_ISREG(st.st_mode);
	if (r < 0 || out->is_special)
		return;
	out->device = st.st_dev;
	out->inode = st.st_ino;
}

/* The file as the user wrote it. */
static const char *name_of(const struct output *out)
{
	return out->rotation.pattern ? out->rotation.pattern : out->path;
}

/* A file that is replaced need not exist yet; those that are rotated do not exist before. */
static bool is_same(const struct output *a, const struct output *b)
{
	if (a->rotation.pattern && b->rotation.pattern)
		return !strcmp(a->rotation.pattern, b->rotation.pattern);
	if (a->memory && b->memory && !strcmp(a->memory->identity, b->memory->identity))
		return !a->is_special;
	return a->inode && a->inode == b->inode && a->device == b->device;
}

static int check_unique(const struct outputs *o, const struct output *out)
{
	vec_each (&o->all, other) {
		if (!is_same(other, out))
			continue;
		if (!other->path)
			return attar_fail(-EINVAL,
				"'%s' is also stdout" ATTAR_FIX
				"use a separate file for each output",
				CLIP(out->path));
		if (!strcmp(name_of(other), name_of(out)))
			return attar_fail(-EINVAL,
				"'%s' is specified by two options" ATTAR_FIX
				"use a separate file for each output",
				CLIP(name_of(out)));
		return attar_fail(-EINVAL,
			"'%s' and '%s' are the same file" ATTAR_FIX
			"use a separate file for each output",
			CLIP(name_of(other)), CLIP(name_of(out)));
	}
	return 0;
}

static bool draws_trees_only(const struct attar_sink *sink)
{
	return sink->sections == 1 << ATTAR_SECTION_TREE;
}

bool sink_draws_lines(const struct attar_sink *sink)
{
	return sink->sections & 1 << ATTAR_SECTION_EVENTS;
}

const struct attar_sink *sink_of_stacks(void)
{
	const struct attar_sink *const *sink = attar_sinks();

	while (!draws_trees_only(*sink))
		sink++;
	return *sink;
}

const struct attar_sink *sink_of_flame_graph(void)
{
	const struct attar_sink *const *sink = attar_sinks();

	while (!(*sink)->wants_trees || draws_trees_only(*sink))
		sink++;
	return *sink;
}

bool sink_fits_stdout(const struct attar_sink *sink)
{
	return !sink->scheme && !sink->needs_file;
}

const struct attar_sink *sink_of_stdout(const char *name)
{
	const struct attar_sink *sink = attar_sink_find(name);

	if (!sink || sink_fits_stdout(sink))
		return sink;
	if (sink->scheme)
		attar_fail(-EINVAL,
			"--format: %s is a database" ATTAR_FIX "use -o %s://HOST/DATABASE",
			sink->name, sink->scheme);
	else
		attar_fail(-EINVAL, "--format: %s is a database" ATTAR_FIX "use -o FILE.%s",
			sink->name, sink->extension);
	return NULL;
}

static int outputs_open_add(
	struct outputs *o, struct output *out, const struct attar_render_opts *opts)
{
	int r;

	if (out->file)
		output_identify(out);
	r = check_unique(o, out);
	if (r == 0)
		r = attar_renderer_new(out->sink->name, out->file, opts, &out->renderer);
	if (r == 0 && vec_push(&o->all, *out) < 0)
		r = base_oom();
	if (r < 0) {
		attar_renderer_free(out->renderer);
		if (out->path) {
			output_close_file(out);
			if (out->created)
				place_unlink_path(out->path);
		}
		free(out->numbered);
		rotation_done(&out->rotation);
		return r;
	}
	o->want_whole |= out->sink->whole_run && !out->rotation.pattern;
	o->want_values |= out->sink->is_complete;
	o->want_tree |= out->sink->wants_trees;
	o->want_spans |= out->sink->wants_spans ||
			 (out->sink->wants_states && o->profiler->uses & ATTAR_GIVES_STATES);
	o->need_tree |= draws_trees_only(out->sink);
	return 0;
}

/* Opens the file for this time. */
int output_open_rotated(struct output *out, uint64_t time)
{
	int fd, r = rotation_open(&out->rotation, time, out->mode, &fd);

	if (r < 0)
		return r;
	out->path = out->rotation.name;
	out->created = out->is_empty = true;
	out->drawn = false;
	return output_direct_to(out, fd);
}

static int begin_rotated(const struct outputs *o, struct output *out, const char *pattern)
{
	int r = outputs_check_name(o->run, o->options, out->sink, pattern);

	out->rotation = (struct rotation){.pattern = pattern,
		.period = o->options->rotate_ns,
		.max_bytes = o->options->keep_bytes};
	out->drawn_at = base_realtime();
	return r == 0 ? output_open_rotated(out, out->drawn_at) : r;
}

/* --append: opens a file so that what it has remains. */
static int open_kept(struct output *out, const char *path)
{
	out->appends = append_fits(out->sink);
	if (out->appends)
		return output_open_file(out, path);
	out->numbered = append_name(path, out->sink);
	return out->numbered ? output_open_file(out, out->numbered) : base_oom();
}

static int open_file(const struct outputs *o, struct output *out, const char *path)
{
	if (out->sink->replaces)
		return open_memory(out, path);
	if (o->options->rotate_ns)
		return begin_rotated(o, out, path);
	return o->options->append ? open_kept(out, path) : output_open_file(out, path);
}

static int add_file(struct outputs *o, const char *path, const struct attar_sink *sink,
	const struct attar_render_opts *opts)
{
	struct attar_render_opts with_address = *opts;
	struct output out = {.sink = sink,
		.mode = o->mode,
		.limit = {signals_give_up, NULL},
		.is_slow = sink_draws_lines(sink) && !sink->whole_run && !sink->is_binary &&
			   attar_run_is_live(o->run)};
	int r = outputs_check_sink(o->profiler, sink);

	with_address.address = out.path = path;
	if (sink->scheme)
		return r < 0 ? r : outputs_open_add(o, &out, &with_address);
	if (r == 0 && !o->options->rotate_ns && rotation_has_time(path))
		log_warn("'%s' is used unchanged as the name of the file: add --rotate-every "
			 "TIME to replace %%Y, %%m and so on by the time",
			CLIP(path));
	if (r == 0)
		r = open_file(o, &out, path);
	if (r < 0)
		free(out.numbered);
	return r < 0 ? r : outputs_open_add(o, &out, opts);
}

static int add_output(struct outputs *o, const char *path, const struct attar_render_opts *opts)
{
	const struct attar_sink *sink = outputs_find_sink(o->options, path);

	return sink ? add_file(o, path, sink, opts) : -EINVAL;
}

/* perf-prof writes the stacks of --flame-graph FILE to FILE.folded. NULL: out of memory. */
static const char *add_extension(struct outputs *o, const char *path)
{
	char *name;

	if (asprintf(&name, "%s.%s", path, sink_of_stacks()->extension) < 0)
		return NULL;
	if (vec_push(&o->names, name) == 0)
		return name;
	free(name);
	return NULL;
}

static int add_flame_graph(
	struct outputs *o, const char *path, const struct attar_render_opts *opts)
{
	if (*path && perf_prof_is_on() && !sink_of_path(path))
		path = add_extension(o, path);
	if (!path)
		return base_oom();
	return *path ? add_file(o, path, outputs_flame_graph_sink(path), opts) : 0;
}

enum { REMARKS_MAX = 3 /* at a terminal, and in what is copied from it */ };

static int add_stdout(
	struct outputs *o, const struct output_options *c, const struct attar_render_opts *files)
{
	struct attar_render_opts opts = *files;
	struct output out = {.file = stdout, .sink = outputs_stdout_sink(c)};
	int r;

	if (c->quiet && out.sink == attar_sinks()[0] && !c->format && !perf_prof_is_on())
		return 0;
	if (perf_prof_is_on() && c->outputs.n) /* -o replaces stdout */
		return 0;
	opts.quiet |= c->quiet;
	if (!out.sink)
		return -EINVAL;
	if (out.sink->is_binary && isatty(STDOUT_FILENO))
		return attar_fail(-EINVAL,
			"%s output is binary" ATTAR_FIX
			"use -o FILE.%s, or redirect stdout to a file",
			out.sink->name, out.sink->extension);
	o->data_on_stdout = !out.sink->for_terminal;
	o->notes_on_stderr = !c->quiet && !out.sink->has_notes;
	console_fit(&opts);
	opts.max_rows = (unsigned)c->rows;
	opts.rows_hint = "--rows 0 shows all";
	opts.redraw = o->redraws = out.sink->for_terminal && opts.time_frames &&
				   o->profiler->uses & ATTAR_REDRAWS && console_redraws();
	r = outputs_check_sink(o->profiler, out.sink);
	if (r == 0)
		r = outputs_open_add(o, &out, &opts);
	if (r == 0 && !c->verbose && !perf_prof_is_on())
		renderer_limit_remarks(o->all.at[o->all.n - 1].renderer, REMARKS_MAX);
	return r;
}

int outputs_open(struct outputs *o, const struct attar_run *run,
	const struct output_options *options, const char *command_line)
{
	struct attar_render_opts opts = {.size = sizeof(opts),
		.command = command_line,
		.time_frames = attar_run_interval(run) != 0,
		.time_lines = options->time_lines,
		.trees = options->flame_graphs.n > 0,
		.exact = options->exact || perf_prof_is_on()};
	int r;

	o->profiler = attar_run_profiler(run);
	o->opts = opts;
	o->run = run;
	o->options = options;
	o->mode = place_default_mode();
	r = outputs_check_options(run, options);
	if (r == 0 && options->mode) {
		r = place_parse_mode(options->mode, &o->mode);
		r = r < 0 ? attar_context(r, "--mode") : 0;
	}
	if (r < 0)
		return r;
	o->want_spans = options->time_lines;
	printer_open(
		&o->printer, attar_run_is_live(run), (struct wait_limit){signals_give_up, NULL});
	r = add_stdout(o, options, &opts);
	for (size_t i = 0; r == 0 && i < options->outputs.n; i++)
		r = add_output(o, options->outputs.at[i], &opts);
	for (size_t i = 0; r == 0 && i < options->flame_graphs.n; i++)
		r = add_flame_graph(o, options->flame_graphs.at[i], &opts);
	if (r == 0)
		r = report_server_open(&o->served, options, command_line, opts.time_frames);
	o->want_tree |= o->served.server != NULL;
	return r;
}
