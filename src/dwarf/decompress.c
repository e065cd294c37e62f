/* SPDX-License-Identifier: MIT */
#include "dwarf/decompress.h"

#include <elf.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

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
