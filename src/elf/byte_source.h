/* SPDX-License-Identifier: MIT */
/*
 * Bounds-checked access to the bytes of a file or of memory by offset. Files are read with pread()
 * and never mapped: truncating a file while it is read causes an error, not a SIGBUS.
 */
#ifndef ELF_BYTE_SOURCE_H
#define ELF_BYTE_SOURCE_H

#include "base/base.h"

struct byte_source { /* owns neither */
	int fd;      /* used if memory is NULL */
	const uint8_t *memory;
	uint64_t size; /* bytes */
};

/* Initializes a source from an open regular file; the size is determined here. */
int byte_source_file(int fd, struct byte_source *ret_source);

/*
 * Reads n bytes at offset. Returns 0, -ENODATA if they are out of bounds, or the negative errno of
 * pread(2). Sets no error message.
 */
int byte_source_read(const struct byte_source *source, uint64_t offset, void *bytes, size_t n);

/* A read-ahead buffer: accesses are mostly sequential. Initialized to zeroes. */
struct byte_window {
	uint64_t at;
	size_t n;
	uint8_t bytes[4 << 10];
};

/* Like byte_source_read(), for at most sizeof(bytes); false if they cannot be read. */
bool byte_window_read(struct byte_window *window, const struct byte_source *source,
	uint64_t offset, void *bytes, size_t n);

#endif
