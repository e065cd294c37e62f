/* SPDX-License-Identifier: MIT */
/*
 * Signals that end a command. The first SIGINT, SIGTERM, SIGHUP or SIGQUIT asks it to finish and
 * print its report; a second one ends the process at once.
 *
 * Two signals are one request if they come within half a second, or if one process sends the same
 * signal again: timeout(1) signals its child and then the process group.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "attar/run.h"

/*
 * At the start of the process: SIGINT and SIGTERM work from now on, although a script that starts a
 * command with '&' has it ignore SIGINT, and so does SIGCHLD. An ignored SIGHUP (nohup(1)) or
 * SIGQUIT stays ignored.
 */
void signals_init(void);

/* From now on a signal stops the run; NULL: it is only noted. */
void signals_take(struct attar_run *run);

/* The run is about to be freed. */
void signals_release(void);

/* The signal that asked for the end; 0: none. */
int signals_taken(void);

/* In a forked child: ignores what attar was started to ignore. Async-signal-safe. */
void signals_restore_ignored(void);

/* Ends the process by the signal that asked for the end, if there was one. */
void signals_raise(void);

#endif
