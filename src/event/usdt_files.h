/* SPDX-License-Identifier: MIT */
/* The files of programs and processes that may have USDT probes. */
#ifndef EVENT_USDT_FILES_H
#define EVENT_USDT_FILES_H

#include <sys/stat.h>

#include "base/base.h"

/* An open file. Valid until the callback returns. */
struct usdt_file {
	const char *path; /* for messages: another user may have put another file there */
	const char *link; /* "/proc/self/fd/N": this file, for all who open it */
	int fd;           /* with O_PATH, of this file */
	struct stat st;
};

/* A nonzero result ends the walk. */
typedef int usdt_file_fn(void *ctx, const struct usdt_file *file);

/*
 * Calls fn for the file of each mapping of code of a process, also several times for a file. The
 * path of a file in another mount namespace is that through /proc/PID/root. Returns 0, also if the
 * process has exited, or the nonzero result of fn.
 */
int usdt_each_file(pid_t pid, usdt_file_fn *fn, void *ctx);

/* Calls fn for the file at a path. Returns its result; 0 if there is no regular file. */
int usdt_named_file(const char *path, usdt_file_fn *fn, void *ctx);

/* Calls fn for the file that execvp(3) would run. Returns its result; 0 if there is none. */
int usdt_program_file(const char *name, usdt_file_fn *fn, void *ctx);

#endif
