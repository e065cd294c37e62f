/* SPDX-License-Identifier: MIT */
#include "perfdata/compress.h"

#include "perfdata/format.h"

#ifdef HAVE_ZSTD
#include <zstd.h>

enum {
	LEVEL = 1,
	END_MAX = 16, /* of a frame whose contents were flushed: 3 bytes */
	PAYLOAD_MAX = 65512 - sizeof(struct perf_event_header),
};

int compress_init(struct compressor *compressor)
{
	compressor->stream = ZSTD_createCCtx();
	if (!compressor->stream)
		return base_oom();
	ZSTD_CCtx_setParameter(compressor->stream, ZSTD_c_compressionLevel, LEVEL);
	return 0;
}

void compress_restart(struct compressor *compressor)
{
	if (compressor->stream)
		ZSTD_CCtx_reset(compressor->stream, ZSTD_reset_session_only);
}

/* Appends one record with compressed bytes; more: the stream holds further ones. */
static int add_record(
	struct compressor *compressor, ZSTD_inBuffer *in, struct buf *out, bool *ret_more)
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
	left = ZSTD_compressStream2(compressor->stream, &to, in, ZSTD_e_flush);
	if (ZSTD_isError(left))
		return attar_fail(-EIO, "cannot compress: %s", ZSTD_getErrorName(left));
	header.size = (uint16_t)(sizeof(header) + to.pos);
	memcpy(out->data + start, &header, sizeof(header));
	out->len = start + (to.pos ? header.size : 0);
	*ret_more = left > 0;
	return 0;
}

int compress_add(struct compressor *compressor, const void *bytes, size_t len, struct buf *out)
{
	for (size_t at = 0; at < len;) {
		size_t n = MIN(len - at, (size_t)COMPRESS_RECORD_BYTES / 2);
		ZSTD_inBuffer in = {(const char *)bytes + at, n, 0};
		bool more = true;

		while (more) {
			int r = add_record(compressor, &in, out, &more);

			if (r < 0)
				return r;
		}
		at += n;
	}
	return 0;
}

int compress_end(struct compressor *compressor, struct buf *bytes)
{
	ZSTD_inBuffer in = {0};
	char end[END_MAX];
	ZSTD_outBuffer to = {.dst = end, .size = sizeof(end)};
	size_t left = ZSTD_compressStream2(compressor->stream, &to, &in, ZSTD_e_end);

	if (ZSTD_isError(left) || left)
		return attar_fail(-EIO, "cannot compress: %s",
			left ? ZSTD_getErrorName(left) : "the end of a frame is too long");
	buf_add(bytes, end, to.pos);
	return buf_failed(bytes) ? base_oom() : 0;
}

void compress_done(struct compressor *compressor)
{
	ZSTD_freeCCtx(compressor->stream);
	compressor->stream = NULL;
}
#else
int compress_init(struct compressor *compressor)
{
	return attar_fail(-ENOTSUP, "attar was built without libzstd: it cannot compress");
}

void compress_restart(struct compressor *compressor)
{
}

int compress_add(struct compressor *compressor, const void *bytes, size_t len, struct buf *out)
{
	return -ENOTSUP;
}

int compress_end(struct compressor *compressor, struct buf *bytes)
{
	return -ENOTSUP;
}

void compress_done(struct compressor *compressor)
{
}
#endif
