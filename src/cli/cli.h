/* SPDX-License-Identifier: MIT */
/* The command's own parts. Every number in enum status is a promise to scripts. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "attar/attar.h"
#include "base/buf.h"

enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
	STATUS_PERMISSION = 3,
	STATUS_UNSUPPORTED = 4,
};

/* The status for a failed library call. */
enum status status_of(int error);

/* Prints "attar: " and the thread's error text to stderr; returns status. */
int report_error(enum status status);

/* To stdout as it is; a text that could not be made for want of memory is complained of. The exit status. */
int print_buf(const struct buf *text);

/* The same with a report, as "text" or "json"; quiet: without its notes. */
int print_report(const struct attar_report *report, const char *format, bool quiet);

/* After the last output by stdio: complains when it did not go out. The exit status. */
int print_end(void);

/* ---- args.c ---- */

struct args {
	char *const *command; /* what follows "--", NULL: nothing */
	bool help;
	const char *events; /* of the last --event, where "help" follows it; NULL: not asked */
};

/* Sets the run's options from argv (without the profiler's name). A negative errno has its text. */
int args_parse(struct attar_run *run, int argc, char **argv, struct args *ret_args);

/* ---- help.c and man.c: texts read from the descriptors; each appends ---- */

struct command;

void help_overview(struct buf *b);
void help_profiler(
	struct buf *b, const struct attar_run *run, const struct attar_profiler *profiler);
void help_command(struct buf *b, const struct command *command);
void help_man(struct buf *b, const struct attar_run *run, const struct attar_profiler *profiler);
void help_man_overview(struct buf *b);
/* The page docs/profilers/<name>.md; NULL: none. Static. */
const char *help_page(const char *profiler);

/* ---- eventhelp.c ---- */

/* Appends what each event of the text is and carries. */
int event_help(struct buf *b, const char *text);

/* ---- complete.c ---- */

/* A completion script for "bash", "zsh" or "fish"; false for another shell. */
bool complete_script(struct buf *b, const char *shell);

/* ---- console.c ---- */

/* Takes the library's log lines and progress to stderr. */
void console_init(void);
void console_mode(bool quiet, bool verbose);
void console_progress(void *ctx, uint64_t elapsed_ns, uint64_t seen, uint64_t lost);
void console_opening(void *ctx, uint64_t done, uint64_t all);
/* Takes the progress line off the terminal. */
void console_clear(void);
/* What stdout can show: its width, colours, and whether no more than ASCII. */
void console_fit(struct attar_render_opts *opts);
/* Why a write failed, by its errno. */
const char *console_error(int error);

/* ---- commands: the whole of `attar NAME ...`; argv[0] is the name; each gives the exit status ---- */

int command_profiler(int argc, char **argv);
int command_list(int argc, char **argv);
int command_user_events(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_help(int argc, char **argv);
int command_completion(int argc, char **argv);

#endif
