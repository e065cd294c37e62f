/* SPDX-License-Identifier: MIT */
/* Outputs of reports: stdout, and the files of -o and --flame-graph. */
#ifndef CLI_OUTPUT_OUTPUTS_H
#define CLI_OUTPUT_OUTPUTS_H

#include <sys/types.h>

#include "attar/report.h"
#include "attar/run.h"
#include "base/buf.h"
#include "base/vec.h"
#include "base/whole_file.h"
#include "cli/output/file_stream.h"
#include "cli/output/terminal_keys.h"
#include "cli/output/output_options.h"
#include "cli/output/printer.h"
#include "cli/output/rotate.h"
#include "cli/output/report_server.h"

struct drawn {
	char *identity; /* of the file to be replaced, see replace_identity() */
	char *text;
	size_t size;
};

struct output {
	const char *path;           /* borrowed; NULL: stdout */
	FILE *file;                 /* NULL: path is an address */
	struct file_writer *writer; /* of file, if it is_slow or a pipe; or NULL */
	struct wait_limit limit;    /* of waits for the reader of a pipe */
	char *numbered;             /* path, if it is owned */
	struct rotation rotation;   /* of files that follow each other; path is the current one */
	uint64_t drawn_at;          /* ns since 1970, if rotated: of what was drawn last */
	struct whole_file whole;    /* file replaces the file at path at the end */
	struct drawn *memory;       /* file is in memory, and replaces path; NULL: it is not */
	mode_t mode;          /* of the file, if it is new */
	dev_t device;         /* of a regular file */
	ino_t inode;          /* 0: not a regular file */
	struct attar_renderer *renderer;
	const struct attar_sink *sink;
	bool is_slow;     /* lines are written during the run, which a thread does */
	bool is_special;  /* a pipe or a device */
	bool appends;     /* the file keeps its contents */
	bool created;     /* the file did not exist before */
	bool is_replaced; /* by whole */
	bool is_empty;    /* its former contents have been removed */
	bool drawn;
	bool failed; /* it receives no further reports */
};

struct outputs {
	const struct attar_run *run; /* borrowed */
	const struct attar_profiler *profiler;
	VEC(struct output) all;
	VEC(char *) names;                    /* paths of some, which are owned */
	struct attar_render_opts opts;        /* of files; strings are borrowed */
	const struct output_options *options; /* borrowed */
	mode_t mode;                          /* of new files */
	bool want_whole, want_tree, need_tree, want_values, want_spans;
	bool data_on_stdout;  /* in a format for programs: keep the command's output out of it */
	bool notes_on_stderr; /* notes of reports on stdout, if the format cannot contain them */
	bool redraws;         /* reports on stdout replace each other */
	struct terminal_keys keys; /* if redraws */
	bool live; /* rings are filling: drop output if the reader of stdout stalls */
	struct printer printer;
	struct report_server served;           /* --listen */
	uint64_t lines_missed, reports_missed; /* dropped because of that reader */
	uint64_t lines_noted, reports_noted;   /* of these, already mentioned in its reports */
	struct buf failure;                    /* that has not been reported yet */
	bool has_ended;                        /* no events follow: databases are waited for */
	uint64_t unstored_noted;               /* dropped rows that reports of intervals have */
};

/* The sinks of --flame-graph: of a page, and of any other file, which contains trees only. */
const struct attar_sink *sink_of_flame_graph(void);
const struct attar_sink *sink_of_stacks(void);

/* Whether a sink can write to stdout. */
bool sink_fits_stdout(const struct attar_sink *sink);

/* The sink of --format NAME. NULL, with an error message: there is none, or it is a database. */
const struct attar_sink *sink_of_stdout(const char *name);

/* Opens the outputs that the options name. Files keep their contents until the run has begun. */
int outputs_open(struct outputs *o, const struct attar_run *run,
	const struct output_options *options, const char *command_line);

/*
 * Truncates the files that have reports of intervals: to remove a large file from the cache takes
 * time, in which rings would overflow if it were done at the first write. Others are replaced by
 * their only report, or a thread truncates them before their first line.
 */
void outputs_empty(struct outputs *o);

/*
 * Creates files that were moved or removed again, for later reports. Returns 0, or the errno of the
 * first one for which that failed.
 */
int outputs_reopen(struct outputs *o);

/* Fits the output on stdout to the size of the terminal. */
void outputs_resize(struct outputs *o);

/* Logs the messages of databases. */
void outputs_turn(struct outputs *o);

/* True if stdout and files have accepted most of the text: batches of lines need not wait. */
bool outputs_are_ready(struct outputs *o);

/* True if an output has not failed. */
bool outputs_remain(const struct outputs *outputs);

/*
 * Draws the report on all outputs for this scope; intervals: the run has intervals. Returns 0, or
 * the errno of the first output that failed; the others are drawn anyway.
 */
int outputs_draw(struct outputs *o, const struct attar_report *report, enum attar_scope scope,
	bool intervals);

/*
 * Closes the outputs; removes files that were created but not written. Returns 0, or the errno of a
 * delayed write.
 */
int outputs_close(struct outputs *o);

#endif
