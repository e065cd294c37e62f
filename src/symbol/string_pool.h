/* SPDX-License-Identifier: MIT */
/* Strings that stay where they are until all are freed: what a struct attar_symbol points to. */
#ifndef SYMBOL_STRING_POOL_H
#define SYMBOL_STRING_POOL_H

#include "base/base.h"

enum { STRING_POOL_MAX_BYTES = 128 << 20 }; /* of one store; then nothing more is added */

struct string_pool_chunk;

struct string_pool {
	struct string_pool_chunk *chunks; /* owned, newest first */
	size_t bytes;                     /* allocated */
};

/* A copy of n bytes with a NUL; borrowed until string_pool_done(). NULL when memory or the bound is used up. */
const char *string_pool_add(struct string_pool *names, const char *text, size_t n);
void string_pool_done(struct string_pool *names);

#endif
