/* SPDX-License-Identifier: MIT */
/*
 * The names in a directory of sysfs or tracefs, sorted, so that what is made of them has an order.
 */
#ifndef TRACEFS_DIR_H
#define TRACEFS_DIR_H

#include "base/vec.h"

enum { DIR_NAMES_MAX = 65536 };

typedef VEC(char *) dir_names;

/*
 * Appends the entries of path without those that begin with a dot, and sorts all. 0 or a negative
 * errno without an error text. The names are the caller's to dir_names_done(), also after a
 * failure.
 */
int dir_read(const char *path, dir_names *ret_names);
void dir_names_done(dir_names *names);

/* Appends a copy of one word. 0 or -ENOMEM. */
int dir_names_add(dir_names *names, const char *word);

#endif
