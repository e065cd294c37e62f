/* SPDX-License-Identifier: MIT */
#include "perfdata/decompress.h"

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

void decompress_input(struct decompressor *decompressor, const void *bytes, size_t len)
{
	decompressor->at = bytes;
	decompressor->left = len;
}

#ifdef HAVE_ZSTD
/* A frame can request a window of this size at most, as log2 of bytes. */
enum { WINDOW_LOG_MAX = 27 };

static int start(struct decompressor *decompressor)
{
	ZSTD_DStream *stream = ZSTD_createDStream();

	if (!stream)
		return base_oom();
	ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	decompressor->stream = stream;
	return 0;
}

ssize_t decompress_read(struct decompressor *decompressor, void *bytes, size_t room)
{
	ZSTD_outBuffer out = {.dst = bytes, .size = room};
	ZSTD_inBuffer in = {.src = decompressor->at, .size = decompressor->left};

	if (!decompressor->stream && start(decompressor) < 0)
		return -ENOMEM;
	/* Until no progress is made: then the input is used up and all output was written. */
	while (out.pos < out.size) {
		size_t in_before = in.pos, out_before = out.pos;
		size_t r = ZSTD_decompressStream(decompressor->stream, &out, &in);

		if (ZSTD_isError(r)) {
			decompressor->failed = true;
			return attar_fail(-EBADMSG, "%s", ZSTD_getErrorName(r));
		}
		if (in.pos == in_before && out.pos == out_before)
			break;
	}
	decompressor->at += in.pos;
	decompressor->more = out.pos == out.size;
	decompressor->left = decompressor->more ? decompressor->left - in.pos : 0;
	return (ssize_t)out.pos;
}

void decompress_done(struct decompressor *decompressor)
{
	ZSTD_freeDStream(decompressor->stream);
	*decompressor = (struct decompressor){0};
}
#else
ssize_t decompress_read(struct decompressor *decompressor, void *bytes, size_t room)
{
	decompressor->failed = true;
	return attar_fail(-ENOTSUP, "attar was built without libzstd");
}

void decompress_done(struct decompressor *decompressor)
{
}
#endif
