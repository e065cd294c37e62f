/* SPDX-License-Identifier: MIT */
/*
 * String interning: equal strings have the same pointer until the table is freed, so that they can
 * be compared by pointer.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/base.h"

struct intern_block;

struct intern {
	const char **slots; /* open addressing; NULL: free */
	size_t size, n;
	struct intern_block *blocks;
	size_t bytes; /* allocated in blocks, for limits */
};

/*
 * The interned copy of text, owned by the table; NULL if out of memory. intern_bytes() takes up to
 * n bytes, or up to a NUL.
 */
const char *intern_text(struct intern *t, const char *text);
const char *intern_bytes(struct intern *t, const char *text, size_t n);
void intern_done(struct intern *t);

#endif
