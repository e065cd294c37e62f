/* SPDX-License-Identifier: MIT */
/* The options of every profiler that concern the command only: formats, files, amount of output. */
#ifndef CLI_OUTPUT_OUTPUT_OPTIONS_H
#define CLI_OUTPUT_OUTPUT_OPTIONS_H

#include "attar/run.h"

struct output_options {
	struct attar_texts outputs, flame_graphs; /* paths; owned by the run */
	const char *format;                       /* of stdout; NULL: text; owned by the run */
	/* see cli/output/http_server.h */
	const char *listen, *listen_token_file, *listen_cert, *listen_key;
	bool insecure, keep_rights;
	uint64_t rotate_ns;  /* time that a file of -o covers; 0: one file for the run */
	uint64_t keep_bytes; /* of all files of one name; 0: no quota */
	bool append;         /* files that exist keep their reports */
	const char *mode;    /* of new files; NULL: place_default_mode() */
	uint64_t rows;       /* of a table on stdout; 0: all */
	uint64_t spans;      /* of a time line */
	bool time_lines;     /* in JSON */
	bool exact;          /* durations in text and pages */
	bool verbose, quiet;

	struct attar_option output_table[19], tree_table[2]; /* descriptions of the options */
	char output_help[448], format_help[256], flame_graph_help[320];
};

/* Whether the profiler itself defines the option --output: it writes its results there. */
bool output_options_has_own(const struct attar_profiler *profiler);

/*
 * Creates a run of the profiler that also takes these options. *opts is set to the defaults and
 * must be valid until the run is freed. Returns 0 or a negative errno of attar_run_new().
 */
int output_options_run_new(
	const char *profiler, struct output_options *opts, struct attar_run **ret_run);

#endif
