/* SPDX-License-Identifier: MIT */
/*
 * String interning: each distinct string is stored once, at an address that is valid until the
 * table is freed, and has a small number. Equal strings have equal addresses and equal numbers, so
 * that either can be stored and compared instead of the string. Number 0 is "".
 *
 *	struct intern t = {0};
 *	uint32_t id;
 *	if (intern_id(&t, "hot", &id) < 0) return base_oom();
 *	puts(intern_get(&t, id));
 *	intern_done(&t);
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/slots.h"
#include "base/vec.h"

struct intern_block;

struct intern {
	VEC(const char *) texts; /* by number; [0] is "" */
	struct slots slots;
	size_t n;                /* distinct strings, without "" */
	struct intern_block *blocks;
	size_t bytes; /* allocated in blocks, for limits */
};

/*
 * The interned copy of text, owned by the table; NULL if out of memory. intern_bytes() takes up to
 * n bytes, or up to a NUL.
 */
const char *intern_text(struct intern *t, const char *text);
const char *intern_bytes(struct intern *t, const char *text, size_t n);

/* The number of text. 0 or -ENOMEM. */
int intern_id(struct intern *t, const char *text, uint32_t *ret_id);

/* The string of a number from intern_id(), or "" for 0; owned by the table. */
static inline const char *intern_get(const struct intern *t, uint32_t id)
{
	return id ? t->texts.at[id] : "";
}

void intern_done(struct intern *t);

#endif
