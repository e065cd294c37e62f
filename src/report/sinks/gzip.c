/* SPDX-License-Identifier: MIT */
#include "report/sinks/gzip.h"

#ifdef HAVE_ZLIB

#include <zlib.h>

enum { WINDOW_BITS = 15, GZIP_HEADER = 16, MEMORY_LEVEL = 8, CHUNK = 64 * 1024 };

/* Compresses one piece into out; the last one ends the file. */
static int deflate_piece(z_stream *z, struct buf *out, bool last)
{
	int r;

	do {
		if (!buf_reserve(out, CHUNK))
			return base_oom();
		z->next_out = (Bytef *)out->data + out->len;
		z->avail_out = CHUNK;
		r = deflate(z, last ? Z_FINISH : Z_NO_FLUSH);
		out->len += CHUNK - z->avail_out;
	} while (r == Z_OK && !z->avail_out);
	return 0;
}

int gzip(struct buf *out, const void *bytes, size_t n, enum gzip_level level)
{
	z_stream z = {0};
	int r;

	if (deflateInit2(&z, level, Z_DEFLATED, WINDOW_BITS + GZIP_HEADER, MEMORY_LEVEL,
		    Z_DEFAULT_STRATEGY) != Z_OK)
		return base_oom();
	z.next_in = (Bytef *)bytes;
	do { /* avail_in has 32 bits */
		z.avail_in = (uInt)MIN(n, (size_t)1 << 30);
		n -= z.avail_in;
		r = deflate_piece(&z, out, n == 0);
	} while (r == 0 && n);
	deflateEnd(&z);
	return r;
}

#else

int gzip(struct buf *out, const void *bytes, size_t n, enum gzip_level level)
{
	return attar_fail(-EOPNOTSUPP,
		"compressed output is not available: this attar was built without zlib" ATTAR_FIX
		"install zlib1g-dev and rebuild attar");
}

#endif
