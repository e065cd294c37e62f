/* SPDX-License-Identifier: MIT */
/* Reads the mappings of a process from /proc/PID/maps (format: proc(5)). */
#ifndef SYMBOL_MAPS_H
#define SYMBOL_MAPS_H

#include "attar/symbol.h"
#include "base/base.h"

/*
 * Called with one mapping; its path is borrowed until the callback returns. A negative result stops
 * reading.
 */
typedef int maps_fn(void *ctx, const struct attar_mapping *mapping, bool executable);

/* Whether executable memory with this path is not backed by a file. */
bool maps_is_anonymous(const char *path);

/* Whether it is a memfd, which is anonymous memory too, but may contain a program. */
bool maps_is_memfd(const char *path);

/* Parses a line in place. False if it is malformed. */
bool maps_line(char *line, struct attar_mapping *ret_mapping, bool *ret_executable);

/*
 * Reads the whole file. Returns 0; -ESRCH if there is no such process; the negative result of fn.
 */
int maps_read(pid_t pid, maps_fn *fn, void *ctx);

/*
 * Reads the executable mappings only, which Linux 6.11 and later find in a fraction of the time:
 * most mappings have data.
 */
int maps_read_code(pid_t pid, maps_fn *fn, void *ctx);

#endif
