/* SPDX-License-Identifier: MIT */
#include "cli/output/outputs_check.h"

#include "attar/private/report.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/suggest.h"
#include "cli/perf_prof.h"

static bool draws_spans_only(const struct attar_sink *sink)
{
	return sink->sections == 1 << ATTAR_SECTION_SPANS;
}

/* gives: flags of profilers, of which one is needed. */
static int no_spans(const struct attar_profiler *profiler, const char *what, unsigned gives)
{
	struct buf list _cleanup_(buf_done) = {0};

	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		if ((*p)->uses & gives)
			buf_printf(&list, "%s%s", list.len ? ", " : "", (*p)->name);
	return attar_fail(-EINVAL,
		"%s needs time lines, which 'attar %s' does not "
		"produce" ATTAR_FIX "use one of %s",
		what, profiler->name, buf_text(&list));
}

int outputs_check_sink(const struct attar_profiler *profiler, const struct attar_sink *sink)
{
	char what[64];

	snprintf(what, sizeof(what), "%s output", sink->name);
	if (draws_spans_only(sink) && !(profiler->uses & ATTAR_GIVES_SPANS))
		return no_spans(profiler, what, ATTAR_GIVES_SPANS);
	if (sink->sections & ~(unsigned)(1 << ATTAR_SECTION_TREE | 1 << ATTAR_SECTION_SPANS) ||
		profiler->uses & ATTAR_GIVES_TREE ||
		(sink->wants_spans && profiler->uses & ATTAR_GIVES_SPANS))
		return 0;
	return attar_fail(-EINVAL,
		"%s output needs aggregated stacks, which 'attar %s' does not produce" ATTAR_FIX
		"use 'attar profile -e EVENT'",
		sink->name, profiler->name);
}

/* Files of a format that shows one report have one interval each. */
int outputs_check_name(const struct attar_run *run, const struct output_options *options,
	const struct attar_sink *sink, const char *pattern)
{
	const struct rotation rotation = {.pattern = pattern, .period = options->rotate_ns};
	int r = rotation_check(&rotation);

	if (r == 0 && sink->whole_run && options->rotate_ns != attar_run_interval(run))
		return attar_fail(-EINVAL,
			"--rotate-every: '%s' can only contain one report" ATTAR_FIX
			"use the same time for -i and --rotate-every",
			CLIP(pattern));
	return r;
}

static int check_rotation(const struct attar_run *run, const struct output_options *c)
{
	if (c->keep_bytes && !c->rotate_ns)
		return attar_fail(-EINVAL, "--rotate-keep requires --rotate-every TIME");
	if (c->rotate_ns && !c->outputs.n && !c->flame_graphs.n)
		return attar_fail(-EINVAL, "--rotate-every requires files" ATTAR_FIX "add -o FILE");
	if (c->rotate_ns && !attar_run_interval(run))
		return attar_fail(
			-EINVAL, "--rotate-every requires intervals" ATTAR_FIX "add -i TIME");
	return 0;
}

int outputs_check_options(const struct attar_run *run, const struct output_options *options)
{
	const unsigned gives = ATTAR_GIVES_SPANS | ATTAR_GIVES_TIMES;
	const struct attar_profiler *profiler = attar_run_profiler(run);
	int r = check_rotation(run, options);

	if (r == 0 && options->append && !options->outputs.n && !options->flame_graphs.n)
		r = attar_fail(-EINVAL, "--append requires files" ATTAR_FIX "add -o FILE");
	if (r == 0 && options->time_lines && !(profiler->uses & gives))
		r = no_spans(profiler, "--time-lines", gives);
	return r;
}

/* The extension of a file name, without the dot; NULL: it has none. */
static const char *extension_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
		   *dot = strrchr(name, '.');

	return dot && dot > name && dot[1] ? dot + 1 : NULL;
}

static const char *misspelled(const char *extension)
{
	struct suggest s = {.word = extension};

	for (const struct attar_sink *const *sink = attar_sinks(); *sink; sink++)
		if ((*sink)->extension)
			suggest_offer(&s, (*sink)->extension);
	return s.best;
}

const struct attar_sink *sink_of_file(const char *path)
{
	const struct attar_sink *sink = sink_of_path(path);
	const char *extension = extension_of(path), *meant = NULL;

	if (!strcmp(path, "-")) {
		attar_fail(-EINVAL, "--output: '-' is not a file" ATTAR_FIX
				    "use --format NAME for results on stdout");
		return NULL;
	}
	if (!sink && extension && !perf_prof_is_on())
		meant = misspelled(extension);
	if (!meant)
		return sink ?: attar_sinks()[0];
	attar_fail(-EINVAL,
		"--output: no format has the extension .%s" ATTAR_FIX "did you mean .%s?",
		CLIP(extension), meant);
	return NULL;
}

/* The option --flame-graph "": folded stacks replace the text of -o, or of stdout without -o. */
static bool outputs_fold_stacks(const struct output_options *options)
{
	for (size_t i = 0; i < options->flame_graphs.n; i++)
		if (!*options->flame_graphs.at[i])
			return true;
	return false;
}

const struct attar_sink *outputs_find_sink(const struct output_options *options, const char *path)
{
	const struct attar_sink *sink = sink_of_file(path);

	return sink == attar_sinks()[0] && outputs_fold_stacks(options) ? sink_of_stacks() : sink;
}

const struct attar_sink *outputs_stdout_sink(const struct output_options *options)
{
	if (options->format)
		return sink_of_stdout(options->format);
	return outputs_fold_stacks(options) && !options->outputs.n ? sink_of_stacks()
								   : attar_sinks()[0];
}

const struct attar_sink *outputs_flame_graph_sink(const char *path)
{
	const struct attar_sink *sink = sink_of_path(path);

	return sink == sink_of_flame_graph() ? sink : sink_of_stacks();
}

/* ---- all of them ---- */

static int check_file(const struct attar_run *run, const struct output_options *options,
	const struct attar_sink *sink, const char *path)
{
	int r = outputs_check_sink(attar_run_profiler(run), sink);

	if (r == 0 && sink->scheme)
		return sink_check_address(path);
	if (r == 0 && options->rotate_ns && !sink->replaces)
		r = outputs_check_name(run, options, sink, path);
	return r;
}

static int check_stdout(const struct attar_run *run, const struct output_options *options)
{
	const struct attar_sink *sink = outputs_stdout_sink(options);

	return sink ? outputs_check_sink(attar_run_profiler(run), sink) : -EINVAL;
}

int outputs_check(const struct attar_run *run, const struct output_options *options)
{
	int r = outputs_check_options(run, options);

	if (r == 0)
		r = check_stdout(run, options);
	for (size_t i = 0; r == 0 && i < options->outputs.n; i++) {
		const char *path = options->outputs.at[i];
		const struct attar_sink *sink = outputs_find_sink(options, path);

		r = sink ? check_file(run, options, sink, path) : -EINVAL;
	}
	for (size_t i = 0; r == 0 && i < options->flame_graphs.n; i++) {
		const char *path = options->flame_graphs.at[i];

		if (*path)
			r = check_file(run, options, outputs_flame_graph_sink(path), path);
	}
	return r;
}
