/* SPDX-License-Identifier: MIT */
/* attar list --input FILE: the events of a recording. */
#ifndef CLI_COMMANDS_LIST_RECORDED_H
#define CLI_COMMANDS_LIST_RECORDED_H

#include <stdbool.h>

/*
 * Lists the events of a recording with the number of their samples. pattern: a kind of events, a
 * shell pattern, or a part of the name; the full name of a tracepoint shows its fields; NULL: all.
 * names: only names. Returns the exit status.
 */
int list_recorded(const char *input, const char *pattern, bool json, bool names);

#endif
