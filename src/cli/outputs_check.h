/* SPDX-License-Identifier: MIT */
/*
 * What is checked of outputs before a run, without opening anything. Each function returns 0, or
 * -EINVAL or another negative errno with an error message.
 */
#ifndef CLI_OUTPUTS_CHECK_H
#define CLI_OUTPUTS_CHECK_H

#include "cli/outputs.h"

/* Whether the profiler has the data that the sink shows. */
int outputs_check_sink(const struct attar_profiler *profiler, const struct attar_sink *sink);

/* Whether files of this name can follow each other, with --rotate-every. */
int outputs_check_name(const struct attar_run *run, const struct output_options *options,
	const struct attar_sink *sink, const char *pattern);

/* Whether the options fit together, and the profiler. */
int outputs_check_options(const struct attar_run *run, const struct output_options *options);

/* The sink of -o; NULL with an error message: there is none for the name. */
const struct attar_sink *outputs_find_sink(const char *path);

/* The sink of --flame-graph. */
const struct attar_sink *outputs_flame_graph_sink(const char *path);

/* All of this, and addresses of databases. */
int outputs_check(const struct attar_run *run, const struct output_options *options);

#endif
