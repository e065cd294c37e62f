/* SPDX-License-Identifier: MIT */
#include "recording/inflate.h"

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

void inflate_input(struct inflater *inflater, const void *bytes, size_t len)
{
	inflater->at = bytes;
	inflater->left = len;
}

#ifdef HAVE_ZSTD
/* A frame can request a window of this size at most, as log2 of bytes. */
enum { WINDOW_LOG_MAX = 27 };

static int start(struct inflater *inflater)
{
	ZSTD_DStream *stream = ZSTD_createDStream();

	if (!stream)
		return base_oom();
	ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	inflater->stream = stream;
	return 0;
}

ssize_t inflate_read(struct inflater *inflater, void *bytes, size_t room)
{
	ZSTD_outBuffer out = {.dst = bytes, .size = room};
	ZSTD_inBuffer in = {.src = inflater->at, .size = inflater->left};

	if (!inflater->stream && start(inflater) < 0)
		return -ENOMEM;
	/* Until no progress is made: then the input is used up and all output was written. */
	while (out.pos < out.size) {
		size_t in_before = in.pos, out_before = out.pos;
		size_t r = ZSTD_decompressStream(inflater->stream, &out, &in);

		if (ZSTD_isError(r)) {
			inflater->failed = true;
			return attar_fail(-EBADMSG, "%s", ZSTD_getErrorName(r));
		}
		if (in.pos == in_before && out.pos == out_before)
			break;
	}
	inflater->at += in.pos;
	inflater->more = out.pos == out.size;
	inflater->left = inflater->more ? inflater->left - in.pos : 0;
	return (ssize_t)out.pos;
}

void inflate_done(struct inflater *inflater)
{
	ZSTD_freeDStream(inflater->stream);
	*inflater = (struct inflater){0};
}
#else
ssize_t inflate_read(struct inflater *inflater, void *bytes, size_t room)
{
	inflater->failed = true;
	return attar_fail(-ENOTSUP, "attar was built without libzstd");
}

void inflate_done(struct inflater *inflater)
{
}
#endif
