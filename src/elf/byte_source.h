/* SPDX-License-Identifier: MIT */
/*
 * Bytes by offset, of a file or of memory, checked against its size. Files are read by pread() and
 * never mapped: one that is cut while we read it costs an error, not a SIGBUS.
 */
#ifndef ELF_BYTE_SOURCE_H
#define ELF_BYTE_SOURCE_H

#include "base/base.h"

struct byte_source { /* owns neither */
	int fd;      /* when memory is NULL */
	const uint8_t *memory;
	uint64_t size; /* bytes */
};

/* A source for an open regular file; its size is taken now. */
int byte_source_file(int fd, struct byte_source *ret_source);

/* All n bytes at offset. 0; -ENODATA when they are not there; a read's errno. No error text. */
int byte_source_read(const struct byte_source *source, uint64_t offset, void *bytes, size_t n);

#endif
