/* SPDX-License-Identifier: MIT */
/* /proc/PID/maps, line by line, however long it is (format: proc(5)). */
#ifndef SYMBOL_MAPS_H
#define SYMBOL_MAPS_H

#include "attar/symbol.h"
#include "base/base.h"

/* Receives one mapping; its path is borrowed until it returns. Below 0 ends the reading. */
typedef int maps_fn(void *ctx, const struct attar_mapping *mapping, bool executable);

/* Takes one line apart, in place. False when it is none. */
bool maps_line(char *line, struct attar_mapping *ret_mapping, bool *ret_executable);

/* All of the file. 0; -ESRCH when the process is gone; what fn returned below 0. */
int maps_read(pid_t pid, maps_fn *fn, void *ctx);

#endif
