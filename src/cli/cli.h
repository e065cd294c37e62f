/* SPDX-License-Identifier: MIT */
/*
 * Internal interface of the attar command. The values of enum status are stable: scripts use them.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "attar/attar-run.h"
#include "attar/builtin.h"
#include "base/buf.h"

enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
	STATUS_PERMISSION = 3,
	STATUS_UNSUPPORTED = 4,
};

/* The exit status for a negative errno of the library. */
enum status status_of(int error);

/* Prints "attar: " and the error message of this thread to stderr; returns status. */
int report_error(enum status status);

/*
 * Prints the text to stdout, or an error if it is incomplete because memory ran out. Returns the
 * exit status.
 */
int print_buf(const struct buf *text);

/* Prints the version on stdout; returns the exit status. */
int print_version(void);

/*
 * Prints a report for people, or for programs (--json); quiet: without notes. Returns the exit
 * status.
 */
int print_report(const struct attar_report *report, bool for_programs, bool quiet);

/* Flushes stdout; prints an error if that or an earlier write failed. Returns the exit status. */
int print_end(void);

/* ---- args.c ---- */

struct args {
	char *const *command; /* the arguments after "--"; NULL: none */
	bool help, help_all; /* -h; -h all */
	bool version;
	/* The values of --event, if "help" follows them. To be freed. NULL: no help requested. */
	char *events;
};

/*
 * Sets options of the run from argv; argv[0] is the name of the profiler. 0, or a negative errno
 * with error message.
 */
int args_parse(struct attar_run *run, int argc, char **argv, struct args *ret_args);

/*
 * Sets the option or operand in a word. Returns the number of words used, or a negative errno with
 * error message.
 */
int args_set(struct attar_run *run, const char *word, const char *next);

/*
 * The value of an option for events, such as -e, which is in a word or the next one; NULL: the word
 * is no such option.
 */
const char *args_event(const struct attar_run *run, const char *word, const char *next);

/* The last value that the words give to the option of this name; NULL: none. */
const char *args_value(const struct attar_run *run, char *const *words, const char *name);

/* "attar" and the arguments, separated by spaces. To be freed; NULL if out of memory. */
char *args_join(int argc, char **argv);

/* ---- help.c and man.c: append text generated from the profiler descriptors ---- */

struct command;

/* What `attar` alone prints: eight questions, each with a command. */
void help_beginnings(struct buf *b);
void help_overview(struct buf *b);
/* All profilers, grouped by question. */
void help_profilers(struct buf *b);
/* Calls fn for each group of profilers, in the order of help. */
void help_each_group(struct buf *b, void (*fn)(struct buf *b, const char *group));
/* The question that the profilers of a group answer; NULL: the group has none. */
const char *help_question(const char *group);
/* How help names the words without a dash that the profiler takes; "": none. */
const char *help_operand(const struct attar_profiler *profiler);
/* All options by group, then the examples. */
void help_profiler(
	struct buf *b, const struct attar_run *run, const struct attar_profiler *profiler);
/* The same in at most 40 lines: examples, the profiler's own options, the usual common ones. */
void help_brief(
	struct buf *b, const struct attar_run *run, const struct attar_profiler *profiler);
void help_command(struct buf *b, const struct command *command);
void help_man(struct buf *b, const struct attar_run *run, const struct attar_profiler *profiler);
void help_man_overview(struct buf *b);
/* The same of a command, with its page if it has one. */
void help_command_page(struct buf *b, const struct command *command);
void help_man_command(struct buf *b, const struct command *command);
/* The text of docs/profilers/<name>.md, or of a command, docs/<name>.md (static); NULL: none. */
const char *help_page(const char *name);

/* ---- help_json.c: the same for programs, as one JSON object ---- */

/* Names, summaries and examples of all profilers and commands. */
void help_json(struct buf *b);
/* All of one, with its options and page. */
void help_json_profiler(
	struct buf *b, const struct attar_run *run, const struct attar_profiler *profiler);
void help_json_command(struct buf *b, const struct command *command);

/* ---- event_help.c ---- */

/* Appends a description of each event, with its fields. */
int event_help(struct buf *b, const struct attar_event_list *list);

/* Appends the attributes that events may have, and the command line without the word help. */
void event_help_command(struct buf *b, int argc, char **argv);

/* ---- complete.c ---- */

/* Appends a completion script for "bash", "zsh" or "fish"; returns false for any other shell. */
bool complete_script(struct buf *b, const char *shell);

/* ---- console.c ---- */

/* Sends log messages and progress of the library to stderr. */
void console_init(void);
void console_mode(bool quiet, bool verbose);
void console_progress(void *ctx, uint64_t elapsed_ns, uint64_t seen, uint64_t lost);
void console_opening(void *ctx, uint64_t done, uint64_t all);
/* Erases the progress line from the terminal. */
void console_clear(void);
/* Sets size, colour and ASCII-only mode according to stdout. */
void console_fit(struct attar_render_opts *opts);
/* True if reports on stdout can replace each other. */
bool console_redraws(void);
/* The reason of a failed write, from its errno (positive). */
const char *console_error(int error);

/* ---- profiler.c ---- */

/* attar PROFILER ...; argv[0] is the name. Returns the exit status. */
int command_profiler(int argc, char **argv);

/*
 * The command line of attar fleet for the command line of a profiler with several --pull: argc + 1
 * words. NULL if it has none of them. The caller frees it.
 */
char **fleet_words(int argc, char **argv);

#endif
