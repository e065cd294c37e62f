/* SPDX-License-Identifier: MIT */
/*
 * A hash table with open addressing and linear probing: finds the numbers of elements that the
 * caller stores. A slot holds the hash of its element, so that the table grows without the
 * elements, and a search compares only those with an equal hash. At most half of the slots are in
 * use. For values by a u64 see map.h, for strings intern.h.
 *
 *	struct slots slots = {0};
 *	slots_each (&slots, hash, number)
 *		if (is_equal(&elements[number - 1], key))
 *			return number;
 *	if (slots_add(&slots, hash, number_of_new_element) < 0) return base_oom();
 *	slots_done(&slots);
 */
#ifndef BASE_SLOTS_H
#define BASE_SLOTS_H

#include "base/base.h"

struct slot {
	uint32_t hash;
	uint32_t number; /* 0: free */
};

struct slots {
	struct slot *at; /* owned by the table; NULL: none */
	uint32_t mask;   /* slots - 1 */
	uint32_t n;      /* slots in use */
};

/* The numbers of the elements with that hash. */
#define slots_each(s, its_hash, it)                                                                \
	for (uint32_t i_ = (its_hash) & (s)->mask, it; (s)->at && (it = (s)->at[i_].number);       \
		i_ = (i_ + 1) & (s)->mask)                                                         \
		if ((s)->at[i_].hash == (its_hash))

/* Doubles the number of slots. 0, or -ENOMEM with its error message. */
int slots_grow(struct slots *s);

/* Makes sure that the next slots_put() has a free slot. 0, or -ENOMEM with its error message. */
static inline int slots_make_room(struct slots *s)
{
	return likely(s->n < (s->mask + 1) / 2) ? 0 : slots_grow(s);
}

/* Adds an element, whose number is not 0, after slots_make_room(). */
static inline void slots_put(struct slots *s, struct slot slot)
{
	uint32_t i = slot.hash & s->mask;

	while (s->at[i].number)
		i = (i + 1) & s->mask;
	s->at[i] = slot;
	s->n++;
}

/* The same with its slots_make_room(). 0, or -ENOMEM with its error message. */
static inline int slots_add(struct slots *s, uint32_t hash, uint32_t number)
{
	if (slots_make_room(s) < 0)
		return -ENOMEM;
	slots_put(s, (struct slot){hash, number});
	return 0;
}

/* Removes an element that was added. */
void slots_remove(struct slots *s, uint32_t hash, uint32_t number);

/* Removes all elements; keeps the memory. */
void slots_reset(struct slots *s);
void slots_done(struct slots *s);

/* Memory that is allocated, in bytes. */
static inline size_t slots_memory(const struct slots *s)
{
	return s->at ? ((size_t)s->mask + 1) * sizeof(*s->at) : 0;
}

#endif
