/* SPDX-License-Identifier: MIT */
/* Compression of records as PERF_RECORD_COMPRESSED: one zstd stream for the whole recording. */
#ifndef PERFDATA_COMPRESS_H
#define PERFDATA_COMPRESS_H

#include "base/buf.h"

enum {
	/* perf decompresses each record into a buffer of this size, which the header names. */
	COMPRESS_RECORD_BYTES = 1 << 20,
};

struct compressor {
	void *stream; /* ZSTD_CCtx; NULL: nothing is compressed */
};

/* Returns 0; -ENOTSUP without libzstd, or -ENOMEM, with an error message. */
int compress_init(struct compressor *compressor);

/* Starts a new stream, for a new file. */
void compress_restart(struct compressor *compressor);

/* Appends records that contain the bytes in compressed form. Returns 0 or a negative errno. */
int compress_add(struct compressor *compressor, const void *bytes, size_t len, struct buf *out);

/*
 * Ends a frame of the stream: what follows can be decompressed without what is before. Appends its
 * last bytes, which are the end of the payload of the last record: perf does not accept a record
 * without contents. Returns 0 or a negative errno.
 */
int compress_end(struct compressor *compressor, struct buf *bytes);

void compress_done(struct compressor *compressor);

#endif
