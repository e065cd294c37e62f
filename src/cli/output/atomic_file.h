/* SPDX-License-Identifier: MIT */
/* Metrics: files that are replaced at once, so that a reader never sees a part of one. */
#ifndef CLI_OUTPUT_ATOMIC_FILE_H
#define CLI_OUTPUT_ATOMIC_FILE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Replaces the file by n bytes (see base/whole_file.h). mode: of a new file. Other files, such as a
 * pipe, are written to instead. Returns 0 or a negative errno without an error message; then the
 * former file remains.
 */
int replace_file(const char *path, mode_t mode, const void *bytes, size_t n);

/*
 * Identifies the file that would be replaced, whether it exists or not: equal strings are the same
 * file. To be freed; NULL: out of memory.
 */
char *replace_identity(const char *path);

/* Whether the file could be replaced; creates nothing. Returns 0 or a negative errno, as above. */
int replace_check(const char *path);

#endif
