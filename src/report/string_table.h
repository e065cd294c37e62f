/* SPDX-License-Identifier: MIT */
/*
 * Interned text: each distinct string is kept once and known by a small number. Number 0 is "".
 *
 *	struct string_table s = {0};
 *	uint32_t id;
 *	if (string_table_add(&s, "hot", &id) < 0) return base_oom();
 *	puts(string_table_get(&s, id));
 *	string_table_done(&s);
 */
#ifndef REPORT_STRING_TABLE_H
#define REPORT_STRING_TABLE_H

#include "base/buf.h"
#include "base/vec.h"

struct string_table {
	struct buf bytes;     /* every string with its NUL, one after the other */
	VEC(uint32_t) starts; /* where string number i starts in bytes */
	uint32_t *slots;      /* hash table of numbers + 1; 0: free */
	size_t size;          /* slots: a power of two, or 0 */
};

/* The number of text. 0, or -ENOMEM without an error text (also at 4 GiB of text). */
int string_table_add(struct string_table *s, const char *text, uint32_t *ret_id);

/* The text of a number that string_table_add() gave, borrowed until the next string_table_add(). */
const char *string_table_get(const struct string_table *s, uint32_t id);
void string_table_done(struct string_table *s);

#endif
