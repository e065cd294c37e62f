/* SPDX-License-Identifier: MIT */
/* The CRC-32 of .gnu_debuglink (polynomial 0xedb88320, as in zlib and ISO 3309). */
#ifndef SYMBOL_CRC32_H
#define SYMBOL_CRC32_H

#include "symbol/source.h"

/* Over all bytes of source. 0; a negative errno when they cannot be read. */
int crc32_of(const struct source *source, uint32_t *ret_sum);

#endif
