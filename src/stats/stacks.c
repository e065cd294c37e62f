/* SPDX-License-Identifier: MIT */
#include "stats/stacks.h"

void stacks_init(struct stacks *s, size_t max_bytes)
{
	*s = (struct stacks){.max_bytes = max_bytes ? max_bytes : (size_t)64 << 20};
}

void stacks_done(struct stacks *s)
{
	free(s->entries);
	free(s->locations);
	free(s->slots);
	*s = (struct stacks){0};
}

static uint32_t hash_locations(const uint64_t *locations, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++) {
		h = (h ^ locations[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 32;
	}
	return (uint32_t)base_hash64(h);
}

/* The free slot where a new stack belongs. */
static struct stack_slot *free_slot(const struct stacks *s, uint32_t hash)
{
	size_t i = hash & (s->n_slots - 1);

	while (s->slots[i].number)
		i = (i + 1) & (s->n_slots - 1);
	return &s->slots[i];
}

static int grow_slots(struct stacks *s)
{
	struct stack_slot *old = s->slots;
	size_t n_old = s->n_slots, n = n_old ? n_old * 2 : 1024;
	struct stack_slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return base_oom();
	s->slots = slots;
	s->n_slots = n;
	for (size_t i = 0; i < n_old; i++)
		if (old[i].number)
			*free_slot(s, old[i].hash) = old[i];
	free(old);
	return 0;
}

static int grow_entries(struct stacks *s)
{
	uint32_t room = s->room ? s->room * 2 : 512;
	struct stack_entry *entries = realloc(s->entries, room * sizeof(*entries));

	if (!entries)
		return base_oom();
	if (!s->n)
		entries[s->n++] = (struct stack_entry){0};
	s->entries = entries;
	s->room = room;
	return 0;
}

static int grow_locations(struct stacks *s, size_t more)
{
	size_t room = MAX(s->room_locations * 2, s->n_locations + more + 4096);
	uint64_t *locations = realloc(s->locations, room * sizeof(*locations));

	if (!locations)
		return base_oom();
	s->locations = locations;
	s->room_locations = room;
	return 0;
}

static int make_room(struct stacks *s, size_t n)
{
	size_t bytes = (s->n_locations + n) * sizeof(*s->locations) +
		       s->n * (sizeof(*s->entries) + 2 * sizeof(*s->slots));

	if (bytes > s->max_bytes)
		return -ENOSPC;
	if ((size_t)(s->n + 1) * 2 > s->n_slots && grow_slots(s) < 0)
		return -ENOMEM;
	if (s->n >= s->room && grow_entries(s) < 0)
		return -ENOMEM;
	return s->n_locations + n > s->room_locations ? grow_locations(s, n) : 0;
}

/* The number of a known stack; 0: it is new. */
static uint32_t find(const struct stacks *s, const uint64_t *locations, size_t n, uint32_t hash)
{
	size_t i = hash & (s->n_slots - 1);

	for (; s->slots[i].number; i = (i + 1) & (s->n_slots - 1)) {
		const struct stack_entry *e = &s->entries[s->slots[i].number];

		if (s->slots[i].hash == hash && e->n == n &&
			!memcmp(s->locations + e->first, locations, n * sizeof(*locations)))
			return s->slots[i].number;
	}
	return 0;
}

uint32_t stacks_intern(struct stacks *s, const uint64_t *locations, size_t n)
{
	uint32_t hash = hash_locations(locations, n);
	uint32_t number = s->n_slots ? find(s, locations, n, hash) : 0;

	if (number)
		return number;
	if (make_room(s, n) < 0) {
		s->refused++;
		return STACKS_FULL;
	}
	number = s->n++;
	s->entries[number] = (struct stack_entry){.n = (uint32_t)n, .first = s->n_locations};
	if (n)
		memcpy(s->locations + s->n_locations, locations, n * sizeof(*locations));
	s->n_locations += n;
	*free_slot(s, hash) = (struct stack_slot){.number = number, .hash = hash};
	return number;
}
