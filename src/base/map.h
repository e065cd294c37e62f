/* SPDX-License-Identifier: MIT */
/*
 * A hash map from u64 to u64 (open addressing, linear probing): ids to indexes, pids to tables. Any
 * key and value are valid. If values are pointers, the caller owns what they point to.
 *
 *	struct map ids = {0};
 *	map_put(&ids, id, index);
 *	uint64_t *index = map_get(&ids, id);
 *	map_done(&ids);
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/base.h"

struct map_slot {
	uint64_t key;
	uint64_t value;
	uint8_t used;
};

struct map {
	struct map_slot *slots; /* owned by the map */
	size_t size;            /* slots: a power of two, or 0 */
	size_t n;               /* keys in it */
};

/* The value of key, borrowed until the next map_put() or map_remove(); NULL when absent. */
uint64_t *map_get(const struct map *m, uint64_t key);

/* Sets or replaces. 0, or -ENOMEM with its error message. */
int map_put(struct map *m, uint64_t key, uint64_t value);

/* True if key existed. */
bool map_remove(struct map *m, uint64_t key);
void map_reset(struct map *m);
void map_done(struct map *m);

#define map_each(m, it)                                                                            \
	for (struct map_slot *it = (m)->slots; it && it < (m)->slots + (m)->size; it++)            \
		if (it->used)

#endif
