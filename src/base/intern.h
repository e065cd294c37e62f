/* SPDX-License-Identifier: MIT */
/*
 * Strings kept once: the same text gives the same pointer for the life of the table, so that texts
 * compare by pointer.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/base.h"

struct intern_block;

struct intern {
	const char **slots; /* open addressing; NULL: free */
	size_t size, n;
	struct intern_block *blocks;
	size_t bytes; /* held in blocks, for bounds */
};

/*
 * The kept copy of text, owned by the table; NULL when out of memory. Of bytes: up to n or a NUL.
 */
const char *intern_text(struct intern *t, const char *text);
const char *intern_bytes(struct intern *t, const char *text, size_t n);
void intern_done(struct intern *t);

#endif
