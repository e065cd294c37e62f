/* SPDX-License-Identifier: MIT */
#include "dwarf/decompress.h"

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

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
