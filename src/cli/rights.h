/* SPDX-License-Identifier: MIT */
/*
 * What a profiler may do, while it reads files and memory of others: as little as it needs. The
 * command that attar runs, and programs that the caller allows in expressions, have the rights of
 * the caller as before. attar agent limits its profilers itself (cli/agent/privileges.c).
 */
#ifndef CLI_RIGHTS_H
#define CLI_RIGHTS_H

#include "attar/run.h"

/*
 * Before anything is opened: gives up what no profiler needs. With a command, or if expressions may
 * run programs (allows_exec), so that they get what the caller has.
 */
void rights_begin(const struct attar_run *run, bool has_command, bool allows_exec);

/* When all is open: gives up what only opening needs, and for good if nothing is executed later. */
void rights_opened(const struct attar_run *run, bool has_command, bool allows_exec);

#endif
