/* SPDX-License-Identifier: MIT */
/*
 * Opens files for code that may not open any: a reader (symbol/reader.h) asks the process that has
 * started it. Functions return a descriptor that the caller owns, or a negative errno.
 */
#ifndef SYMBOL_FILE_OPENER_H
#define SYMBOL_FILE_OPENER_H

#include "base/base.h"

enum { FILE_OPENER_ROOT = -1000 }; /* stands for the root directory of the DSO's process */

struct dso_key;

struct file_opener {
	/* The file of a DSO again, after it was closed. */
	int (*again)(void *ctx, const struct dso_key *key);
	/* A file that a binary or its debug information names. root: above, or AT_FDCWD */
	int (*other)(void *ctx, int root, const char *path);
	/* A debug file from a server; path is the path of the binary. */
	int (*download)(void *ctx, const char *path, const uint8_t *id, size_t id_size);
	/* The path of a file that was opened; "": unknown. Borrowed until the cache is freed. */
	const char *(*path)(void *ctx, int fd);
	void *ctx;
};

#endif
