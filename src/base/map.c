/* SPDX-License-Identifier: MIT */
#include "base/map.h"

static size_t home(const struct map *m, uint64_t key)
{
	return base_hash64(key) & (m->size - 1);
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	if (!m->size)
		return NULL;
	for (size_t i = home(m, key); m->slots[i].used; i = (i + 1) & (m->size - 1))
		if (m->slots[i].key == key)
			return &m->slots[i].value;
	return NULL;
}

static void map_insert(struct map *m, uint64_t key, uint64_t value)
{
	size_t i = home(m, key);

	while (m->slots[i].used)
		i = (i + 1) & (m->size - 1);
	m->slots[i] = (struct map_slot){.key = key, .value = value, .used = 1};
	m->n++;
}

static int map_grow(struct map *m)
{
	struct map bigger = {.size = m->size ? m->size * 2 : 16};

	bigger.slots = calloc(bigger.size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return base_oom();
	map_each (m, it)
		map_insert(&bigger, it->key, it->value);
	free(m->slots);
	*m = bigger;
	return 0;
}

int map_put(struct map *m, uint64_t key, uint64_t value)
{
	uint64_t *old = map_get(m, key);

	if (old) {
		*old = value;
		return 0;
	}
	if ((m->n + 1) * 4 > m->size * 3 && map_grow(m) < 0)
		return -ENOMEM;
	map_insert(m, key, value);
	return 0;
}

/* Backward-shift deletion: moves later slots of the run that would no longer be found. */
bool map_remove(struct map *m, uint64_t key)
{
	uint64_t *value = map_get(m, key);
	size_t mask = m->size - 1, gap, i;

	if (!value)
		return false;
	gap = (size_t)((struct map_slot *)((char *)value - offsetof(struct map_slot, value)) -
		       m->slots);
	for (i = (gap + 1) & mask; m->slots[i].used; i = (i + 1) & mask) {
		size_t want = home(m, m->slots[i].key);

		if (((i - want) & mask) < ((i - gap) & mask))
			continue;
		m->slots[gap] = m->slots[i];
		gap = i;
	}
	m->slots[gap].used = 0;
	m->n--;
	return true;
}

void map_reset(struct map *m)
{
	if (m->slots)
		memset(m->slots, 0, m->size * sizeof(*m->slots));
	m->n = 0;
}

void map_done(struct map *m)
{
	free(m->slots);
	*m = (struct map){0};
}
