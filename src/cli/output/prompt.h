/* SPDX-License-Identifier: MIT */
/* Queries of the user after a run: lines of standard input up to a semicolon. */
#ifndef CLI_OUTPUT_PROMPT_H
#define CLI_OUTPUT_PROMPT_H

#include "cli/output/outputs.h"

/*
 * Reads queries until the end of the input or .quit, and draws the answers. A line that begins with
 * a dot is a complete query. Returns the exit status: on a terminal errors are only printed,
 * otherwise the first one ends it.
 */
enum status prompt_run(struct attar_run *run, struct outputs *outputs);

#endif
