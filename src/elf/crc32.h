/* SPDX-License-Identifier: MIT */
/* The CRC-32 of .gnu_debuglink (polynomial 0xedb88320, as in zlib and ISO 3309). */
#ifndef ELF_CRC32_H
#define ELF_CRC32_H

#include "elf/byte_source.h"

/*
 * Computes the CRC over all bytes of source. Returns 0, or a negative errno if they cannot be read.
 */
int crc32_of(const struct byte_source *source, uint32_t *ret_sum);

#endif
