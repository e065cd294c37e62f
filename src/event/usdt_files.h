/* SPDX-License-Identifier: MIT */
/* The files of programs and processes that may have USDT probes. */
#ifndef EVENT_USDT_FILES_H
#define EVENT_USDT_FILES_H

#include <sys/types.h>

#include "base/base.h"

/* Called for a file by its real path; a nonzero result ends the walk. */
typedef int usdt_file_fn(void *ctx, const char *path);

/*
 * Calls fn for the file of each mapping of code of a process, also several times for a file. A file
 * in another mount namespace is named through /proc/PID/root. Returns 0, also if the process has
 * exited, or the nonzero result of fn.
 */
int usdt_each_file(pid_t pid, usdt_file_fn *fn, void *ctx);

/* Calls fn for the file that execvp(3) would run. Returns its result; 0 if there is none. */
int usdt_program_file(const char *name, usdt_file_fn *fn, void *ctx);

#endif
