/* SPDX-License-Identifier: MIT */
/*
 * Signals that end a run, and those that request something of it. The first SIGINT, SIGTERM, SIGHUP
 * or SIGQUIT stops it and prints its report; a second one ends the process at once, or a wait for
 * the reader of a pipe, with an error. After a signal from the terminal, such a wait has no limit
 * of its own, since the reader may be a pager. A signal during the download of a debug file ends
 * the download instead, so that no part of the file remains.
 *
 * Two signals are one request if they come within half a second, or if one process sends the same
 * signal again: timeout(1) signals its child and then the process group.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "attar/run.h"
#include "attar/symbol.h"

/*
 * Call this at process start: restores the default action of SIGINT, SIGTERM and SIGCHLD if they
 * are ignored (a shell script ignores SIGINT in commands started with '&'). An ignored SIGHUP
 * (nohup(1)) or SIGQUIT stays ignored.
 */
void signals_init(void);

/* From here on a signal stops the run; NULL: it is only recorded. */
void signals_take(struct attar_run *run);

/*
 * For a command without a run: a signal ends the process at once, or else the download of a debug
 * file for symbols; then call signals_release() and signals_raise() at the end of the command.
 */
void signals_take_downloads(struct attar_symbols *symbols);

/* Requests by signals that do not end the run. SIGUSR1 requests a report of the run itself. */
enum {
	SIGNALS_STATUS = 1,  /* SIGUSR2: print the state of the run */
	SIGNALS_RESIZED = 2, /* SIGWINCH: the terminal has another size */
	SIGNALS_REOPEN = 4,  /* SIGUSR1: files may have been moved */
};

/* The requests since the last call. */
unsigned signals_asked(void);

/* Call this before the run or the symbols are freed. */
void signals_release(void);

/* The first signal received; 0: none. */
int signals_taken(void);

/*
 * Whether to give up a wait for the reader of a pipe, see base/wait_limit.h: after a second signal,
 * or when it has taken nothing for 10 seconds after one that a process has sent.
 */
bool signals_give_up(void *ctx, uint64_t stalled_ns);

/*
 * In a forked child: ignores the signals that were ignored when attar started. Async-signal-safe.
 */
void signals_restore_ignored(void);

/* Whether a second signal ended a wait for a reader. */
bool signals_ended_wait(void);

/* Ends the process with the signal that ended the run or the last wait, if there is one. */
void signals_raise(void);

#endif
