/* SPDX-License-Identifier: MIT */
/*
 * Interned stacks of code locations: each distinct stack has a small number, so that counting a
 * sample takes one hash and one comparison. Locations are ordered innermost frame first, as the
 * kernel delivers them.
 */
#ifndef STATS_STACKS_H
#define STATS_STACKS_H

#include "base/slots.h"

enum { STACKS_FULL = 0 }; /* the number of all new stacks after the bound is reached */

struct stack_entry {
	uint32_t n;   /* locations */
	size_t first; /* index of the first one in locations */
};

struct stacks {
	struct stack_entry *entries; /* by number; entry 0 is STACKS_FULL, empty */
	uint32_t n, room;
	/* of each stack: a word with its number and, above it, its length; then locations */
	uint64_t *locations;
	size_t n_locations, room_locations;
	struct slots slots; /* the index in locations of the first one of a stack */
	size_t max_bytes;
	uint64_t refused; /* stacks not added because of the bound */
};

/* max_bytes bounds the memory; 0: 64 MiB. */
void stacks_init(struct stacks *s, size_t max_bytes);
void stacks_done(struct stacks *s);

/* The number of this stack; STACKS_FULL if it is new and the bound is reached, or out of memory. */
uint32_t stacks_intern(struct stacks *s, const uint64_t *locations, size_t n);

static inline const uint64_t *stacks_locations(
	const struct stacks *s, uint32_t number, size_t *ret_n)
{
	*ret_n = s->entries ? s->entries[number].n : 0;
	return s->entries ? s->locations + s->entries[number].first : NULL;
}

#endif
