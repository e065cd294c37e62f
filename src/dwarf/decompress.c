/* SPDX-License-Identifier: MIT */
#include "dwarf/decompress.h"

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

enum {
	BLOCK = 64 << 10,     /* packed bytes that are read at a time */
	FILL_LEAST = 1 << 20, /* bytes that are filled at a time */
};

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

bool decompress_header(const struct elf *elf, uint64_t *offset, uint64_t *ret_packed,
	uint64_t *size, uint32_t *ret_method)
{
	union {
		Elf32_Chdr c32;
		Elf64_Chdr c64;
	} header;
	size_t n = elf->is64 ? sizeof(header.c64) : sizeof(header.c32);

	if (*size < n || byte_source_read(&elf->source, *offset, &header, n) < 0)
		return false;
	*ret_packed = *size - n;
	*offset += n;
	*size = elf->is64 ? header.c64.ch_size : header.c32.ch_size;
	*ret_method = elf->is64 ? header.c64.ch_type : header.c32.ch_type;
	return true;
}

int decompress(uint32_t method, const uint8_t *packed, size_t n, uint8_t *bytes, size_t size)
{
#ifdef HAVE_ZLIB
	if (method == ELFCOMPRESS_ZLIB) {
		uLongf got = size;

		return uncompress(bytes, &got, packed, n) == Z_OK && got == size ? 0 : -EBADMSG;
	}
#endif
#ifdef HAVE_ZSTD
	if (method == ELFCOMPRESS_ZSTD)
		return ZSTD_decompress(bytes, size, packed, n) == size ? 0 : -EBADMSG;
#endif
	return -EOPNOTSUPP;
}

struct decompressor {
	const struct byte_source *source;
	uint64_t next, end; /* offsets of the packed bytes that were not read yet */
	uint32_t method;
	uint8_t *bytes;
	uint64_t size, filled;
	size_t at, n; /* bytes of the block that were taken, and all */
#ifdef HAVE_ZLIB
	z_stream zlib;
#endif
#ifdef HAVE_ZSTD
	ZSTD_DStream *zstd;
#endif
	uint8_t block[BLOCK];
};

static int open_stream(struct decompressor *d)
{
#ifdef HAVE_ZLIB
	if (d->method == ELFCOMPRESS_ZLIB)
		return inflateInit(&d->zlib) == Z_OK ? 0 : base_oom();
#endif
#ifdef HAVE_ZSTD
	if (d->method == ELFCOMPRESS_ZSTD) {
		d->zstd = ZSTD_createDStream();
		return d->zstd ? 0 : base_oom();
	}
#endif
	return -EOPNOTSUPP;
}

int decompressor_open(const struct byte_source *source, uint64_t offset, uint64_t n,
	uint32_t method, uint8_t *bytes, uint64_t size, struct decompressor **ret)
{
	struct decompressor *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return base_oom();
	d->source = source;
	d->next = offset;
	d->end = offset + n;
	d->method = method;
	d->bytes = bytes;
	d->size = size;
	r = open_stream(d);
	if (r < 0) {
		free(d);
		return r;
	}
	*ret = d;
	return 0;
}

void decompressor_close(struct decompressor *d)
{
	if (!d)
		return;
#ifdef HAVE_ZLIB
	if (d->method == ELFCOMPRESS_ZLIB)
		inflateEnd(&d->zlib);
#endif
#ifdef HAVE_ZSTD
	ZSTD_freeDStream(d->zstd);
#endif
	free(d);
}

/* Takes bytes of the block, and fills those up to `to`. False: they are malformed. */
static bool take_block(struct decompressor *d, uint64_t to)
{
#ifdef HAVE_ZLIB
	if (d->method == ELFCOMPRESS_ZLIB) {
		int r;

		d->zlib.next_in = d->block + d->at;
		d->zlib.avail_in = (uInt)(d->n - d->at);
		d->zlib.next_out = d->bytes + d->filled;
		d->zlib.avail_out = (uInt)(to - d->filled);
		r = inflate(&d->zlib, Z_NO_FLUSH);
		d->at = d->n - d->zlib.avail_in;
		d->filled = to - d->zlib.avail_out;
		return r == Z_OK || (r == Z_STREAM_END && d->filled == d->size);
	}
#endif
#ifdef HAVE_ZSTD
	if (d->method == ELFCOMPRESS_ZSTD) {
		ZSTD_inBuffer in = {.src = d->block, .size = d->n, .pos = d->at};
		ZSTD_outBuffer out = {.dst = d->bytes, .size = to, .pos = d->filled};
		size_t r = ZSTD_decompressStream(d->zstd, &out, &in);

		d->at = in.pos;
		d->filled = out.pos;
		return !ZSTD_isError(r);
	}
#endif
	return false;
}

static bool read_block(struct decompressor *d)
{
	d->at = 0;
	d->n = (size_t)MIN(d->end - d->next, (uint64_t)BLOCK);
	if (!d->n || byte_source_read(d->source, d->next, d->block, d->n) < 0)
		return false;
	d->next += d->n;
	return true;
}

uint64_t decompressor_fill(struct decompressor *d, uint64_t n)
{
	uint64_t to = MAX(n, d->filled + FILL_LEAST);

	to = MIN(to, d->size);
	while (d->filled < to) {
		uint64_t before = d->filled;

		if (d->at == d->n && !read_block(d))
			break;
		if (!take_block(d, to) || (d->filled == before && d->at < d->n))
			break;
	}
	return d->filled;
}
