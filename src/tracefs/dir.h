/* SPDX-License-Identifier: MIT */
/* Sorted names of a directory in sysfs or tracefs, for deterministic output. */
#ifndef TRACEFS_DIR_H
#define TRACEFS_DIR_H

#include "base/vec.h"

enum { DIR_NAMES_MAX = 65536 };

typedef VEC(char *) dir_names;

/*
 * Appends the entries of path, except those that begin with a dot, and sorts all names. Returns 0
 * or a negative errno without an error message. The caller must release the names with
 * dir_names_done(), also after a failure.
 */
int dir_read(const char *path, dir_names *ret_names);
void dir_names_done(dir_names *names);

/* Appends a copy of one word. Returns 0 or -ENOMEM. */
int dir_names_add(dir_names *names, const char *word);

#endif
