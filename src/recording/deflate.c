/* SPDX-License-Identifier: MIT */
#include "recording/deflate.h"

#include "recording/format.h"

#ifdef HAVE_ZSTD
#include <zstd.h>

enum {
	LEVEL = 1,
	PAYLOAD_MAX = 65528 - sizeof(struct perf_event_header),
};

int deflate_init(struct deflater *deflater)
{
	deflater->stream = ZSTD_createCCtx();
	if (!deflater->stream)
		return base_oom();
	ZSTD_CCtx_setParameter(deflater->stream, ZSTD_c_compressionLevel, LEVEL);
	return 0;
}

void deflate_restart(struct deflater *deflater)
{
	if (deflater->stream)
		ZSTD_CCtx_reset(deflater->stream, ZSTD_reset_session_only);
}

/* Appends one record with compressed bytes; more: the stream holds further ones. */
static int add_record(struct deflater *deflater, ZSTD_inBuffer *in, struct buf *out, bool *ret_more)
{
	static const char room[PAYLOAD_MAX];
	struct perf_event_header header = {.type = RECORD_COMPRESSED};
	size_t start = out->len, left;
	ZSTD_outBuffer to = {.size = PAYLOAD_MAX};

	buf_add(out, &header, sizeof(header));
	buf_add(out, room, sizeof(room));
	if (buf_failed(out))
		return base_oom();
	to.dst = out->data + start + sizeof(header);
	left = ZSTD_compressStream2(deflater->stream, &to, in, ZSTD_e_flush);
	if (ZSTD_isError(left))
		return attar_fail(-EIO, "cannot compress: %s", ZSTD_getErrorName(left));
	header.size = (uint16_t)(sizeof(header) + to.pos);
	memcpy(out->data + start, &header, sizeof(header));
	out->len = start + (to.pos ? header.size : 0);
	*ret_more = left > 0;
	return 0;
}

int deflate_add(struct deflater *deflater, const void *bytes, size_t len, struct buf *out)
{
	for (size_t at = 0; at < len;) {
		size_t n = MIN(len - at, (size_t)DEFLATE_RECORD_BYTES / 2);
		ZSTD_inBuffer in = {(const char *)bytes + at, n, 0};
		bool more = true;

		while (more) {
			int r = add_record(deflater, &in, out, &more);

			if (r < 0)
				return r;
		}
		at += n;
	}
	return 0;
}

void deflate_done(struct deflater *deflater)
{
	ZSTD_freeCCtx(deflater->stream);
	deflater->stream = NULL;
}
#else
int deflate_init(struct deflater *deflater)
{
	return attar_fail(-ENOTSUP, "attar was built without libzstd: it cannot compress");
}

void deflate_restart(struct deflater *deflater)
{
}

int deflate_add(struct deflater *deflater, const void *bytes, size_t len, struct buf *out)
{
	return -ENOTSUP;
}

void deflate_done(struct deflater *deflater)
{
}
#endif
