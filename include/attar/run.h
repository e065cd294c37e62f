/* SPDX-License-Identifier: MIT */
/*
 * attar/run.h - run a profiler.
 *
 * A run connects a profiler (attar/profiler.h) with a target, a stream, symbols, intervals and the
 * receivers of reports.
 *
 *	struct attar_run *run;
 *	attar_run_new("profile", &run);
 *	attar_run_set(run, "freq", "997");
 *	attar_run_set(run, "duration", "5s");
 *	attar_run_go(run, &hooks);
 *	attar_run_free(run);
 *
 * Unless documented otherwise, functions that return an int return 0, or a negative errno with an
 * error message in attar_error().
 */
#ifndef ATTAR_RUN_H
#define ATTAR_RUN_H

#include "attar/profiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Receivers of a run's output. Each function may be NULL. */
struct attar_run_hooks {
	size_t size; /* sizeof(struct attar_run_hooks) */
	void *ctx;
	/* Called with a report, borrowed for the call. A negative errno ends the run. */
	int (*report)(void *ctx, const struct attar_report *report, enum attar_scope scope);
	/* Called about every second: elapsed time, events seen and lost. */
	void (*progress)(void *ctx, uint64_t elapsed_ns, uint64_t seen, uint64_t lost);
	bool want_whole;     /* with intervals: also a report of the whole run at the end */
	bool want_tree;      /* add call trees, even if no option requests them */
	bool want_values;    /* also add fields of single events as values, attar_row_value() */
	bool no_line_output; /* lines of single events are not used: do not create them */
	/* Called in each iteration of the main loop, at least about ten times per second. */
	void (*turn)(void *ctx);
	/*
	 * Called about ten times per second if opening events takes longer than a second: `done` of
	 * `all` events are open.
	 */
	void (*opening)(void *ctx, uint64_t done, uint64_t all);
	/* Called in the process of a launched command, see attar_target_opts.prepare. */
	void (*prepare)(void *ctx);
	bool need_tree; /* an output shows call trees only; implies want_tree */
	/*
	 * While it returns false, lines of single events wait in the buffer (--buffer), until that
	 * is full or the run has ended. NULL: report() can always be called.
	 */
	bool (*ready)(void *ctx);
	/* Called when all events are open, before they are enabled. Not for recordings. */
	void (*opened)(void *ctx);
	/*
	 * Add a time line to the report of the whole run, of at most this many pairs, states and
	 * events; 0: none.
	 */
	uint64_t want_spans;
	/*
	 * Called about ten times per second while a recording waits for the reader of its pipe,
	 * which has taken nothing for stalled_ns; also in attar_run_free(). True: the recording
	 * fails with -ETIMEDOUT. NULL: it waits without limit.
	 */
	bool (*give_up)(void *ctx, uint64_t stalled_ns);
};

/*
 * Creates a run of the named profiler, with default options. -ENOENT: no such profiler; the error
 * message suggests a similar name.
 */
ATTAR_API int attar_run_new(const char *profiler, struct attar_run **ret_run);

/*
 * Creates a run of any profiler, such as one of the caller. The descriptor is borrowed until the
 * run is freed; it must have a name, open() and report().
 */
ATTAR_API int attar_run_from(const struct attar_profiler *profiler, struct attar_run **ret_run);

/* Terminates the launched command, if any, and frees the run. Returns NULL. run may be NULL. */
ATTAR_API struct attar_run *attar_run_free(struct attar_run *run);

/*
 * All options of a run: its profiler's, then common ones; ends with a NULL title. Owned by the run.
 */
ATTAR_API const struct attar_option_group *attar_run_option_groups(const struct attar_run *run);

/*
 * Adds options of the caller under a help heading, such as where to write reports. attar_run_set()
 * sets them in *state. All arguments are borrowed until attar_run_free(); strings and lists in
 * *state are owned by the run. Returns 0; -EEXIST: a name or letter is already used; -ENOSPC: too
 * many groups; -EINVAL: the run was already started.
 */
ATTAR_API int attar_run_add_options(
	struct attar_run *run, const char *title, const struct attar_option *options, void *state);

/*
 * Sets an option by its long name; the prefix "no-" turns a switch off. value is copied; NULL for
 * flags. -ENOENT: no such option; -EINVAL, -ERANGE: invalid value. The error message names the
 * option.
 */
ATTAR_API int attar_run_set(struct attar_run *run, const char *name, const char *value);

/*
 * Sets the option in a word of a command line: -x, -xVALUE, -x VALUE, -xy, --name VALUE,
 * --name=VALUE, --no-name. next is the word after it, or NULL. Returns the number of words used: 1,
 * or 2 with next; otherwise as attar_run_set().
 */
ATTAR_API int attar_run_set_word(struct attar_run *run, const char *word, const char *next);

/* Sets the command to launch; argv is borrowed until the run is freed. */
ATTAR_API void attar_run_command(struct attar_run *run, char *const *argv);

/*
 * Runs until the target ends, the duration is over, or attar_run_stop() is called. Can be called
 * once per run: afterwards it, attar_run_set() and attar_run_command() fail with -EINVAL. hooks are
 * copied and may be NULL. Returns 0, or the negative errno of an open failure or of a hook.
 * -ECANCELED: attar_run_stop() was called before all events were open, and nothing was measured.
 *
 * Equal to attar_run_start(), then attar_run_step() until it returns 0, then the last reports.
 */
ATTAR_API int attar_run_go(struct attar_run *run, const struct attar_run_hooks *hooks);

/*
 * Opens the events and starts the run, for a caller with its own loop:
 *
 *	attar_run_start(run, &hooks);
 *	while ((r = attar_run_step(run, 100)) > 0)
 *		other_work();
 *	if (r == 0)
 *		attar_run_report(run, ATTAR_SCOPE_WHOLE, &report);
 *
 * Arguments and errors are the same as of attar_run_go(). Between steps nothing reads the rings:
 * events are lost when one is full.
 */
ATTAR_API int attar_run_start(struct attar_run *run, const struct attar_run_hooks *hooks);

/*
 * Waits for events at most timeout_ms (-1: up to 400 ms; 0: does not wait), delivers them and calls
 * the hooks. Returns 1; 0 once the run is over; or the negative errno of a failure or of a hook.
 */
ATTAR_API int attar_run_step(struct attar_run *run, int timeout_ms);

/*
 * A descriptor for poll(2) or epoll(7): readable when attar_run_step() has work to do.
 * Owned by the run. -EINVAL: the run was not started, or repeats its command.
 */
ATTAR_API int attar_run_fd(struct attar_run *run);

/*
 * Makes a report: during the run of what was delivered so far, afterwards of all. The caller frees
 * it with attar_report_free(). ATTAR_SCOPE_INTERVAL covers the time since the previous report.
 */
ATTAR_API int attar_run_report(
	struct attar_run *run, enum attar_scope scope, struct attar_report **ret_report);

/* Makes a run stop and report. Safe in signal handlers and from other threads. */
ATTAR_API void attar_run_stop(struct attar_run *run);

/*
 * Requests a report of the time since the previous one. A run that is driven by attar_run_step() or
 * attar_run_go() gives it to the report hook within about 400 ms. Not with a recording. Safe in
 * signal handlers and from other threads.
 */
ATTAR_API void attar_run_request_report(struct attar_run *run);

/* True once the measurement has ended and only the last reports follow. */
ATTAR_API bool attar_run_ended(const struct attar_run *run);

/* The exit status of the launched command, as attar_target_command_status(). */
ATTAR_API int attar_run_command_status(const struct attar_run *run);

#ifdef __cplusplus
}
#endif

#endif
