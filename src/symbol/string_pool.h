/* SPDX-License-Identifier: MIT */
/* Strings with stable addresses until all are freed; a struct attar_symbol points to them. */
#ifndef SYMBOL_STRING_POOL_H
#define SYMBOL_STRING_POOL_H

#include "base/base.h"

enum { STRING_POOL_MAX_BYTES = 128 << 20 }; /* the largest limit of a pool */

struct string_pool_chunk;

struct string_pool {
	struct string_pool_chunk *chunks; /* owned, newest first */
	size_t bytes, max;                /* allocated, and its limit; max 0: the largest */
};

/*
 * A NUL-terminated copy of n bytes, borrowed until string_pool_done(). NULL if out of memory or
 * over the limit.
 */
const char *string_pool_add(struct string_pool *names, const char *text, size_t n);
void string_pool_done(struct string_pool *names);

#endif
