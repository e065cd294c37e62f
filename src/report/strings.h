/* SPDX-License-Identifier: MIT */
/*
 * Interned text: each distinct string is kept once and known by a small number. Number 0 is "".
 *
 *	struct strings s = {0};
 *	uint32_t id;
 *	if (strings_add(&s, "hot", &id) < 0) return base_oom();
 *	puts(strings_get(&s, id));
 *	strings_done(&s);
 */
#ifndef REPORT_STRINGS_H
#define REPORT_STRINGS_H

#include "base/buf.h"
#include "base/vec.h"

struct strings {
	struct buf bytes;     /* every string with its NUL, one after the other */
	VEC(uint32_t) starts; /* where string number i starts in bytes */
	uint32_t *slots;      /* hash table of numbers + 1; 0: free */
	size_t size;          /* slots: a power of two, or 0 */
};

/* The number of text. 0, or -ENOMEM without an error text (also at 4 GiB of text). */
int strings_add(struct strings *s, const char *text, uint32_t *ret_id);

/* The text of a number that strings_add() gave, borrowed until the next strings_add(). */
const char *strings_get(const struct strings *s, uint32_t id);
void strings_done(struct strings *s);

#endif
