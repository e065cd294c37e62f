/* SPDX-License-Identifier: MIT */
/*
 * Whole small files of /proc, /sys and tracefs, read in a loop that survives EINTR and short reads.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buf.h"

/*
 * Appends the file's bytes to b, at most max of them (more is -EFBIG). 0 or a negative errno; the
 * error text names the path.
 */
int file_read(const char *path, size_t max, struct buf *b);

/* The same from an open fd, which stays the caller's. name is for the error text. */
int file_read_fd(int fd, const char *name, size_t max, struct buf *b);

/*
 * A file that holds one number and no more, decimal or hexadecimal after 0x. 0 or a negative errno.
 */
int file_read_i64(const char *path, int64_t *ret_value);

/* Writes all of it. 0 or a negative errno without an error text. */
int file_write_all(int fd, const void *bytes, size_t n);

/*
 * The path of the running program's file, for advice about it; its short name where /proc is
 * missing.
 */
void file_of_program(char *ret_path, size_t max);

#endif
