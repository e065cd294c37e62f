/* SPDX-License-Identifier: MIT */
/* Limits on open files, and messages with how to raise them. */
#ifndef BASE_LIMIT_H
#define BASE_LIMIT_H

#include "base/base.h"

/*
 * Needed when all events are open: SPARE, because files are read one at a time; for a stream STREAM
 * in addition, for epoll and for /proc, CPU hotplug or symbols while another file is read.
 */
enum { LIMIT_SPARE_FILES = 1, LIMIT_STREAM_FILES = 3 };

/* The soft limit of RLIMIT_NOFILE; 0: unknown. */
uint64_t limit_open_files(void);

/*
 * Describes an open(2) error: strerror(error), or for EMFILE and ENFILE the limit and how to raise
 * it. Borrowed until the thread's next call.
 */
const char *limit_open_error(int error);

/*
 * "run ulimit -n NEEDED", and " as root" if the hard limit is lower. Borrowed until the thread's
 * next call.
 */
const char *limit_raise_files(uint64_t needed);

#endif
