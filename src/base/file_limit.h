/* SPDX-License-Identifier: MIT */
/* Limits on open files, and messages with how to raise them. */
#ifndef BASE_FILE_LIMIT_H
#define BASE_FILE_LIMIT_H

#include "base/base.h"

/*
 * Needed when all events are open: SPARE, because files are read one at a time; for a stream STREAM
 * in addition, for epoll and for /proc, CPU hotplug or symbols while another file is read.
 */
enum { FILE_LIMIT_SPARE = 1, FILE_LIMIT_STREAM = 3 };

/* The soft limit of RLIMIT_NOFILE; 0: unknown. */
uint64_t file_limit_get(void);

/* How many files a cache keeps open: a quarter of the limit, from 4 to 256. */
unsigned file_limit_for_cache(void);

/*
 * Fails with an error of open(2) and "fmt: reason": strerror(error), or for EMFILE and ENFILE the
 * limit, with how to raise it as the fix. Returns -error.
 */
int file_limit_fail(int error, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/*
 * "run ulimit -n NEEDED", and " as root" if the hard limit is lower. Borrowed until the thread's
 * next call.
 */
const char *file_limit_raise(uint64_t needed);

#endif
