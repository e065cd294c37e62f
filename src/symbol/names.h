/* SPDX-License-Identifier: MIT */
/* Strings that stay where they are until all are freed: what a struct attar_symbol points to. */
#ifndef SYMBOL_NAMES_H
#define SYMBOL_NAMES_H

#include "base/base.h"

enum { NAMES_MAX_BYTES = 128 << 20 }; /* of one store; then nothing more is added */

struct names_chunk;

struct names {
	struct names_chunk *chunks; /* owned, newest first */
	size_t bytes;               /* allocated */
};

/* A copy of n bytes with a NUL; borrowed until names_done(). NULL when memory or the bound is used up. */
const char *names_add(struct names *names, const char *text, size_t n);
void names_done(struct names *names);

#endif
