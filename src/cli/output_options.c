/* SPDX-License-Identifier: MIT */
#include "cli/output_options.h"

#define T struct output_options

static const struct attar_option output_options[] = {
	ATTAR_LIST(T, outputs, 'o', "output", "FILE",
		"also write the results to FILE, in the format given by its extension (html, "
		"folded, json, csv, txt); may be repeated",
		.complete = "file"),
	ATTAR_TEXT(T, format, 0, "format", "NAME",
		"format of stdout: text, json, csv, folded, html; with any but text, the command's "
		"output goes to stderr",
		.complete = "format"),
	ATTAR_COUNT(
		T, rows, 0, "rows", "N", "print at most N rows of a table (default 40; 0: all)"),
	ATTAR_FLAG(T, verbose, 'v', "verbose", "print more detail on stderr"),
	ATTAR_FLAG(T, quiet, 'q', "quiet",
		"print no tables, progress or remarks: only write the files of -o, and errors"),
	{0}};

static const struct attar_option tree_options[] = {
	ATTAR_LIST(T, flame_graphs, 0, "flame-graph", "FILE",
		"write folded stacks to FILE, or an HTML page if FILE ends in .html; with -i, each "
		"folded stack starts with the date and time; may be repeated",
		.complete = "file"),
	{0}};

int output_options_run_new(
	const char *profiler, struct output_options *opts, struct attar_run **ret_run)
{
	struct attar_run *run;
	int r = attar_run_new(profiler, &run);

	if (r < 0)
		return r;
	*opts = (struct output_options){.rows = 40};
	r = attar_run_add_options(run, "Output", output_options, opts);
	if (r == 0 && attar_profiler_find(profiler)->uses & ATTAR_GIVES_TREE)
		r = attar_run_add_options(run, "Flame graphs", tree_options, opts);
	if (r < 0) {
		attar_run_free(run);
		return r;
	}
	*ret_run = run;
	return 0;
}
