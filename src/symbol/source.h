/* SPDX-License-Identifier: MIT */
/*
 * Bytes by offset, of a file or of memory, checked against its size. Files are read by pread() and
 * never mapped: one that is cut while we read it costs an error, not a SIGBUS.
 */
#ifndef SYMBOL_SOURCE_H
#define SYMBOL_SOURCE_H

#include "base/base.h"

struct source { /* owns neither */
	int fd; /* when memory is NULL */
	const uint8_t *memory;
	uint64_t size; /* bytes */
};

/* A source for an open regular file; its size is taken now. */
int source_file(int fd, struct source *ret_source);

/* All n bytes at offset. 0; -ENODATA when they are not there; a read's errno. No error text. */
int source_read(const struct source *source, uint64_t offset, void *bytes, size_t n);

#endif
