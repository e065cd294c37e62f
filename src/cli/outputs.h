/* SPDX-License-Identifier: MIT */
/* Where reports go: stdout, and the files of -o and --flame-graph. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include <sys/types.h>

#include "attar/report.h"
#include "attar/run.h"
#include "base/vec.h"
#include "cli/printer.h"

struct output {
	const char *path; /* borrowed; NULL: stdout */
	FILE *file;
	dev_t device; /* of a regular file: what it is, whatever its name */
	ino_t inode;  /* 0: it is none */
	struct attar_renderer *renderer;
	bool whole;   /* draws the whole run once */
	bool tree;    /* draws stacks alone: single events are not for it */
	bool created; /* the file was not there before */
	bool drawn;
	bool failed; /* and got no more since */
};

struct outputs {
	VEC(struct output) all;
	bool want_whole, want_tree, want_values;
	bool data_on_stdout; /* in a format for programs, which the command's text must not break */
	bool notes_on_stderr; /* those of stdout's reports: its format has no place for them */
	bool live; /* rings fill meanwhile: a reader of stdout who stalls misses what comes */
	struct printer printer;
	uint64_t lines_missed, reports_missed; /* by that reader */
	uint64_t lines_noted, reports_noted;   /* of them, those that its reports tell of */
};

/* Opens what the run's options ask for. Files are not cut before there is something to write. */
int outputs_open(struct outputs *o, const struct attar_run *run, const char *command_line);

/* Whether there is one that has not failed. */
bool outputs_remain(const struct outputs *outputs);

/*
 * Draws the report on every output that wants this scope; intervals: the run has them. 0, or the
 * errno of the first that failed; the others are drawn nevertheless.
 */
int outputs_draw(struct outputs *o, const struct attar_report *report, enum attar_scope scope,
	bool intervals);

/*
 * Closes; removes files that were made and got nothing. 0, or the errno of a write that failed
 * late.
 */
int outputs_close(struct outputs *o);

#endif
