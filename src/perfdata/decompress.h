/* SPDX-License-Identifier: MIT */
/* Decompression of PERF_RECORD_COMPRESSED: all payloads of a recording are one zstd stream. */
#ifndef PERFDATA_DECOMPRESS_H
#define PERFDATA_DECOMPRESS_H

#include "base/base.h"

struct decompressor {
	void *stream;   /* ZSTD_DStream */
	const char *at; /* borrowed input, not yet consumed */
	size_t left;
	bool more;   /* the decoder may hold output, since the last buffer was filled */
	bool failed; /* the stream is damaged from here on */
};

/* Starts a payload, which must stay valid until decompress_pending() is false. */
void decompress_input(struct decompressor *decompressor, const void *bytes, size_t len);

/* Whether decompress_read() can return more bytes. */
static inline bool decompress_pending(const struct decompressor *decompressor)
{
	return (decompressor->left || decompressor->more) && !decompressor->failed;
}

/*
 * Decompresses at most room bytes. Returns their number, which is less than room if the payload is
 * used up; -ENOTSUP without libzstd, -EBADMSG, or -ENOMEM, with an error message.
 */
ssize_t decompress_read(struct decompressor *decompressor, void *bytes, size_t room);

void decompress_done(struct decompressor *decompressor);

#endif
