/* SPDX-License-Identifier: MIT */
/* attar list usdt:FILE: the USDT probes in a file. */
#ifndef CLI_COMMANDS_LIST_USDT_H
#define CLI_COMMANDS_LIST_USDT_H

#include <stdbool.h>

/* True for "usdt:FILE", "usdt:FILE:PROVIDER", "usdt:FILE:PROVIDER:NAME". */
bool list_usdt_is(const char *pattern);

/*
 * Lists the probes in a file, or with `verbose` each location of each; `names`: only their event
 * names. Returns the exit status.
 */
int list_usdt(const char *pattern, bool json, bool names, bool verbose);

#endif
