/* SPDX-License-Identifier: MIT */
/* Decompresses ELF sections (gABI, "Section Compression"). */
#ifndef DWARF_DECOMPRESS_H
#define DWARF_DECOMPRESS_H

#include "base/base.h"

/*
 * Fills exactly size bytes. method: ELFCOMPRESS_ZLIB or ELFCOMPRESS_ZSTD. Returns 0; -EBADMSG if
 * the bytes are malformed or of another size; -EOPNOTSUPP if attar was built without the library.
 * Sets no error text.
 */
int decompress(uint32_t method, const uint8_t *packed, size_t n, uint8_t *bytes, size_t size);

#endif
