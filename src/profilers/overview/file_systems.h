/* SPDX-License-Identifier: MIT */
/* Local file systems that are full. */
#ifndef PROFILERS_OVERVIEW_FILE_SYSTEMS_H
#define PROFILERS_OVERVIEW_FILE_SYSTEMS_H

#include <stdbool.h>
#include <stddef.h>

enum { FILE_SYSTEM_BYTES = 256 };

struct file_system {
	char path[FILE_SYSTEM_BYTES]; /* where it is mounted */
	double used, inodes_used;     /* percent; inodes: 0 if it has no limit of them */
};

/*
 * Reads the fullest one of those in a file such as /proc/self/mounts that can be written, and are
 * not at a server that may not answer. False: there is none.
 */
bool file_systems_fullest(const char *mounts, struct file_system *ret_fullest);

#endif
