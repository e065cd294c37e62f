/* SPDX-License-Identifier: MIT */
/* Decompression of PERF_RECORD_COMPRESSED: all payloads of a recording are one zstd stream. */
#ifndef RECORDING_INFLATE_H
#define RECORDING_INFLATE_H

#include "base/base.h"

struct inflater {
	void *stream;   /* ZSTD_DStream */
	const char *at; /* borrowed input, not yet consumed */
	size_t left;
	bool more;   /* the decoder may hold output, since the last buffer was filled */
	bool failed; /* the stream is damaged from here on */
};

/* Starts a payload, which must stay valid until inflate_pending() is false. */
void inflate_input(struct inflater *inflater, const void *bytes, size_t len);

/* Whether inflate_read() can return more bytes. */
static inline bool inflate_pending(const struct inflater *inflater)
{
	return (inflater->left || inflater->more) && !inflater->failed;
}

/*
 * Decompresses at most room bytes. Returns their number, which is less than room if the payload is
 * used up; -ENOTSUP without libzstd, -EBADMSG, or -ENOMEM, with an error text.
 */
ssize_t inflate_read(struct inflater *inflater, void *bytes, size_t room);

void inflate_done(struct inflater *inflater);

#endif
