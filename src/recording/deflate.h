/* SPDX-License-Identifier: MIT */
/* Compression of records as PERF_RECORD_COMPRESSED: one zstd stream for the whole recording. */
#ifndef RECORDING_DEFLATE_H
#define RECORDING_DEFLATE_H

#include "base/buf.h"

enum {
	/* perf decompresses each record into a buffer of this size, which the header names. */
	DEFLATE_RECORD_BYTES = 1 << 20,
};

struct deflater {
	void *stream; /* ZSTD_CCtx; NULL: nothing is compressed */
};

/* Returns 0; -ENOTSUP without libzstd, or -ENOMEM, with an error text. */
int deflate_init(struct deflater *deflater);

/* Starts a new stream, for a new file. */
void deflate_restart(struct deflater *deflater);

/* Appends records that contain the bytes in compressed form. Returns 0 or a negative errno. */
int deflate_add(struct deflater *deflater, const void *bytes, size_t len, struct buf *out);

void deflate_done(struct deflater *deflater);

#endif
