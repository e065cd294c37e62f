/* SPDX-License-Identifier: MIT */
/* The limits on open files, for messages that say how to raise them. */
#ifndef BASE_LIMIT_H
#define BASE_LIMIT_H

#include "base/base.h"

enum { LIMIT_SPARE_FILES = 64 }; /* what is opened besides: binaries with names, outputs, waiting */

/* RLIMIT_NOFILE, the soft limit; 0: not known. */
uint64_t limit_open_files(void);

/*
 * Why a file could not be opened: what strerror(error) says, but for EMFILE and ENFILE also the
 * limit and how to raise it. Borrowed until the thread's next call.
 */
const char *limit_open_error(int error);

/*
 * ": run ulimit -n NEEDED", and who may where the hard limit is in the way. Borrowed likewise.
 */
const char *limit_raise_files(uint64_t needed);

#endif
