/* SPDX-License-Identifier: MIT */
/* Requests during a run: SIGUSR2, SIGWINCH, and lines on standard input. */
#ifndef CLI_CONTROL_H
#define CLI_CONTROL_H

#include "attar/run.h"
#include "cli/output/outputs.h"

/*
 * Whether lines on standard input are markers. It must be a pipe or socket that no other process
 * reads: a terminal, a file (the input of a loop in a script) and /dev/null are not read.
 */
void control_begin(bool reads_stdin);

/* To be called at each turn of the run. 0, or the errno of a file that cannot be opened again. */
int control_turn(struct attar_run *run, struct outputs *outputs);

#endif
