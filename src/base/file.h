/* SPDX-License-Identifier: MIT */
/*
 * Reads small files of /proc, /sys and tracefs; handles EINTR and short reads.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buf.h"

/*
 * Appends the contents of a file to b. Returns 0, -EFBIG if it is larger than max bytes, or another
 * negative errno; the error message names the path.
 */
int file_read(const char *path, size_t max, struct buf *b);

/* The same from an open fd, which the caller still owns. name is for the error message. */
int file_read_fd(int fd, const char *name, size_t max, struct buf *b);

/*
 * Reads a file that contains a single number, decimal or hexadecimal (0x). Returns 0 or a negative
 * errno.
 */
int file_read_i64(const char *path, int64_t *ret_value);

/*
 * Whether the path exists, and whether it is a directory that can be listed: with the effective
 * capabilities of this process, which access(2) ignores unless the user is root.
 */
bool file_exists(const char *path);
bool file_is_listable(const char *path);

/* Writes all n bytes. Returns 0 or a negative errno without an error message. */
int file_write_all(int fd, const void *bytes, size_t n);

/*
 * The path of the running program, for messages; its short name if /proc is not mounted.
 */
void file_of_program(char *ret_path, size_t max);

#endif
