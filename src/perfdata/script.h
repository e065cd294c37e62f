/* SPDX-License-Identifier: MIT */
/*
 * Scripts: recordings as text, for exact tests without privileges. A script is compiled to a
 * perf.data file in memory, so that everything after that is the same as for other recordings.
 * docs/scripts.md describes the language.
 *
 *	# attar script
 *	event sched:sched_wakeup comm:char[16] pid:pid_t
 *	1.000000100 0 100/101 waker sched:sched_wakeup comm=sleeper pid=42
 */
#ifndef PERFDATA_SCRIPT_H
#define PERFDATA_SCRIPT_H

#include "base/base.h"

/* The first line of a script starts with this. */
#define SCRIPT_MAGIC "# attar script"

/*
 * Compiles the text, len bytes, to a file in memory; path is for messages. Stores its descriptor,
 * owned by the caller. Returns 0, or a negative errno: -EBADMSG with the line that is invalid.
 */
int script_compile(const char *path, const char *text, size_t len, int *ret_fd);

#endif
