/* SPDX-License-Identifier: MIT */
#include "cli/output/output_options.h"

#include <stdio.h>

#include "attar/builtin.h"
#include "base/buf.h"
#include "cli/output/outputs.h"

#define T struct output_options

enum { OUTPUT, APPEND, ROTATE, KEEP, MODE, FORMAT, FLAME_GRAPH = 0 };

/* The options without help get one that lists the sinks. */
static const struct attar_option output_options[] = {
	[OUTPUT] = ATTAR_LIST(T, outputs, 'o', "output", "FILE", NULL, .complete = "file"),
	[APPEND] = ATTAR_FLAG(T, append, 0, "append",
		"append to existing files of -o; for formats that cannot be appended to, such as "
		"CSV, write a new file with a number in its name: x.1.csv"),
	[ROTATE] = ATTAR_TIME(T, rotate_ns, 0, "rotate-every", "TIME",
		"with -i: begin new files of -o every TIME; use %Y %m %d %H %M %S (UTC) in their "
		"names",
		.bare = 1000000000, .min = 1000000),
	[KEEP] = ATTAR_SIZE(T, keep_bytes, 0, "rotate-keep", "SIZE",
		"--rotate-every: delete the oldest files when their total size exceeds SIZE"),
	[MODE] = ATTAR_TEXT(T, mode, 0, "mode", "MODE",
		"mode of new files, such as 0640 (default: 0600 for root, otherwise as the umask "
		"allows)"),
	[FORMAT] = ATTAR_TEXT(T, format, 0, "format", "NAME", NULL, .complete = "format"),
	ATTAR_COUNT(
		T, rows, 0, "rows", "N", "print at most N rows of a table (default 40; 0: all)"),
	ATTAR_FLAG(T, exact, 0, "exact",
		"print the durations of a table in one unit with three decimals: in microseconds, "
		"unless all are long"),
	ATTAR_COUNT(T, spans, 0, "spans", "N",
		"maximum number of pairs, states and events in time lines (default 200000)"),
	ATTAR_FLAG(T, time_lines, 0, "time-lines",
		"add time lines, with each pair, state and event, to JSON"),
	ATTAR_FLAG(T, verbose, 'v', "verbose",
		"show all remarks of a report, and print more detail on stderr"),
	ATTAR_FLAG(T, quiet, 'q', "quiet",
		"print only errors: no tables, progress or remarks on the terminal; write the "
		"files of -o"),
	ATTAR_TEXT(T, listen, 0, "listen", "ADDRESS",
		"with -i: serve the newest results by HTTP, as a page at / and for Prometheus at "
		"/metrics; ADDRESS is [HOST:]PORT or unix:PATH; without HOST, only local programs "
		"can connect"),
	ATTAR_TEXT(T, listen_token_file, 0, "listen-token-file", "FILE",
		"--listen: require the first line of FILE as bearer token", .complete = "file"),
	ATTAR_TEXT(T, listen_cert, 0, "listen-cert", "FILE",
		"--listen: use TLS with this certificate (PEM)", .complete = "file"),
	ATTAR_TEXT(T, listen_key, 0, "listen-key", "FILE",
		"--listen: the private key of the certificate (PEM)", .complete = "file"),
	ATTAR_FLAG(T, insecure, 0, "insecure",
		"--listen: allow addresses other than loopback without TLS and token"),
	ATTAR_FLAG(T, keep_rights, 0, "keep-rights",
		"keep all capabilities; without it, attar drops those that the profiler does not "
		"need"),
	{0}};

static const struct attar_option tree_options[] = {
	[FLAME_GRAPH] =
		ATTAR_LIST(T, flame_graphs, 0, "flame-graph", "FILE", NULL, .complete = "file"),
	{0}};

static void list_sinks(struct buf *names, struct buf *extensions)
{
	for (const struct attar_sink *const *sink = attar_sinks(); *sink; sink++) {
		if (sink_fits_stdout(*sink))
			buf_printf(names, "%s%s", names->len ? ", " : "", (*sink)->name);
		if ((*sink)->extension)
			buf_printf(extensions, "%s%s", extensions->len ? ", " : "",
				(*sink)->extension);
	}
}

/* Lists the sinks in the help of opts, a copy of the tables. */
static int complete_help(struct output_options *opts)
{
	struct buf names _cleanup_(buf_done) = {0}, extensions _cleanup_(buf_done) = {0};
	const struct attar_sink *stacks = sink_of_stacks(), *page = sink_of_flame_graph();

	_Static_assert(sizeof(opts->output_table) == sizeof(output_options), "all are copied");
	_Static_assert(sizeof(opts->tree_table) == sizeof(tree_options), "all are copied");
	list_sinks(&names, &extensions);
	if (buf_failed(&names) || buf_failed(&extensions))
		return base_oom();
	memcpy(opts->output_table, output_options, sizeof(output_options));
	memcpy(opts->tree_table, tree_options, sizeof(tree_options));
	snprintf(opts->output_help, sizeof(opts->output_help),
		"also write the results to FILE, in the format given by its extension (%s; any "
		"other: text), or to a database, clickhouse://USER@HOST:8123/DATABASE; may be "
		"repeated",
		buf_text(&extensions));
	snprintf(opts->format_help, sizeof(opts->format_help),
		"format of stdout: %s; with any but %s, the command's output goes to stderr",
		buf_text(&names), attar_sinks()[0]->name);
	snprintf(opts->flame_graph_help, sizeof(opts->flame_graph_help),
		"write %s stacks to FILE, or %s if FILE ends in .%s; with -i, each %s stack starts "
		"with the date and time; \"\": to the text file of -o, or stdout; may be repeated",
		stacks->name, page->name, page->extension, stacks->name);
	opts->output_table[OUTPUT].help = opts->output_help;
	opts->output_table[FORMAT].help = opts->format_help;
	opts->tree_table[FLAME_GRAPH].help = opts->flame_graph_help;
	return 0;
}

bool output_options_has_own(const struct attar_profiler *profiler)
{
	for (const struct attar_option *o = profiler->options; o && o->name; o++)
		if (!strcmp(o->name, output_options[OUTPUT].name))
			return true;
	return false;
}

int output_options_run_new(
	const char *profiler, struct output_options *opts, struct attar_run **ret_run)
{
	struct attar_run *run;
	int r = attar_run_new(profiler, &run);

	if (r < 0)
		return r;
	*opts = (struct output_options){.rows = 40, .spans = 200000};
	r = complete_help(opts);
	if (r == 0)
		r = attar_run_add_options(run, "Output",
			opts->output_table +
				(output_options_has_own(profiler_find(profiler)) ? FORMAT : OUTPUT),
			opts);
	if (r == 0 && profiler_find(profiler)->uses & ATTAR_GIVES_TREE)
		r = attar_run_add_options(run, "Flame graphs", opts->tree_table, opts);
	if (r < 0) {
		attar_run_free(run);
		return r;
	}
	*ret_run = run;
	return 0;
}
