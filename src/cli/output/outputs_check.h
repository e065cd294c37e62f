/* SPDX-License-Identifier: MIT */
/*
 * What is checked of outputs before a run, without opening anything. Each function returns 0, or
 * -EINVAL or another negative errno with an error message.
 */
#ifndef CLI_OUTPUT_OUTPUTS_CHECK_H
#define CLI_OUTPUT_OUTPUTS_CHECK_H

#include "cli/output/outputs.h"

/* Whether the profiler has the data that the sink shows. */
int outputs_check_sink(const struct attar_profiler *profiler, const struct attar_sink *sink);

/* Whether files of this name can follow each other, with --rotate-every. */
int outputs_check_name(const struct attar_run *run, const struct output_options *options,
	const struct attar_sink *sink, const char *pattern);

/* Whether the options fit together, and the profiler. */
int outputs_check_options(const struct attar_run *run, const struct output_options *options);

/*
 * The sink that the extension of a file name selects: the sink of text if no format has the
 * extension. NULL with an error message: the extension of a format is misspelled.
 */
const struct attar_sink *sink_of_file(const char *path);

/* The sinks of -o and of stdout; NULL with an error message: there is none. */
const struct attar_sink *outputs_find_sink(const struct output_options *options, const char *path);
const struct attar_sink *outputs_stdout_sink(const struct output_options *options);

/* The sink of --flame-graph with the name of a file. */
const struct attar_sink *outputs_flame_graph_sink(const char *path);

/* All of this, and addresses of databases. */
int outputs_check(const struct attar_run *run, const struct output_options *options);

#endif
