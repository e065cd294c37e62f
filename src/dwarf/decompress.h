/* SPDX-License-Identifier: MIT */
/* Decompresses ELF sections (gABI, "Section Compression"). */
#ifndef DWARF_DECOMPRESS_H
#define DWARF_DECOMPRESS_H

#include "elf/elf.h"

/*
 * Reads the Elf64_Chdr before the bytes of a section with SHF_COMPRESSED. *offset and *size are
 * the place and size of the section in the file, and become the place of the packed bytes in the
 * file and the size of the decompressed section; *ret_packed is the number of packed bytes. False:
 * malformed.
 */
bool decompress_header(const struct elf *elf, uint64_t *offset, uint64_t *ret_packed,
	uint64_t *size, uint32_t *ret_method);

/*
 * Fills exactly size bytes. method: ELFCOMPRESS_ZLIB or ELFCOMPRESS_ZSTD. Returns 0; -EBADMSG if
 * the bytes are malformed or of another size; -EOPNOTSUPP if attar was built without the library.
 * Sets no error message.
 */
int decompress(uint32_t method, const uint8_t *packed, size_t n, uint8_t *bytes, size_t size);

/* A section that is decompressed as far as it is needed. */
struct decompressor;

/*
 * Decompresses n bytes of a file to `size` bytes, from their start on; both are borrowed until the
 * decompressor is closed. Returns 0; -EOPNOTSUPP; -ENOMEM.
 */
int decompressor_open(const struct byte_source *source, uint64_t offset, uint64_t n,
	uint32_t method, uint8_t *bytes, uint64_t size, struct decompressor **ret);
void decompressor_close(struct decompressor *decompressor);

/*
 * Fills the first n bytes at least. Returns how many were filled: all if the packed ones are not
 * malformed.
 */
uint64_t decompressor_fill(struct decompressor *decompressor, uint64_t n);

#endif
