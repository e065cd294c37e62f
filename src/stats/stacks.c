/* SPDX-License-Identifier: MIT */
#include "stats/stacks.h"

void stacks_init(struct stacks *s, size_t max_bytes)
{
	*s = (struct stacks){.max_bytes = max_bytes ? max_bytes : (size_t)64 << 20};
}

void stacks_done(struct stacks *s)
{
	free(s->entries);
	free(s->places);
	free(s->slots);
	*s = (struct stacks){0};
}

static uint32_t hash_places(const uint64_t *places, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++) {
		h = (h ^ places[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 32;
	}
	return (uint32_t)base_hash64(h);
}

static int grow_slots(struct stacks *s)
{
	size_t n = s->n_slots ? s->n_slots * 2 : 1024;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return base_oom();
	for (uint32_t number = 1; number < s->n; number++) {
		size_t i = s->entries[number].hash & (n - 1);

		while (slots[i])
			i = (i + 1) & (n - 1);
		slots[i] = number;
	}
	free(s->slots);
	s->slots = slots;
	s->n_slots = n;
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

static int grow_places(struct stacks *s, size_t more)
{
	size_t room = MAX(s->room_places * 2, s->n_places + more + 4096);
	uint64_t *places = realloc(s->places, room * sizeof(*places));

	if (!places)
		return base_oom();
	s->places = places;
	s->room_places = room;
	return 0;
}

static int make_room(struct stacks *s, size_t n)
{
	size_t bytes = (s->n_places + n) * sizeof(*s->places) + s->n * (sizeof(*s->entries) + 8);

	if (bytes > s->max_bytes)
		return -ENOSPC;
	if ((size_t)(s->n + 1) * 2 > s->n_slots && grow_slots(s) < 0)
		return -ENOMEM;
	if (s->n >= s->room && grow_entries(s) < 0)
		return -ENOMEM;
	return s->n_places + n > s->room_places ? grow_places(s, n) : 0;
}

uint32_t stacks_intern(struct stacks *s, const uint64_t *places, size_t n)
{
	uint32_t hash = hash_places(places, n), number;
	size_t i;

	for (i = s->n_slots ? hash & (s->n_slots - 1) : 0; s->n_slots && (number = s->slots[i]);
		i = (i + 1) & (s->n_slots - 1)) {
		const struct stack_entry *e = &s->entries[number];

		if (e->hash == hash && e->n == n &&
			!memcmp(s->places + e->first, places, n * sizeof(*places)))
			return number;
	}
	if (make_room(s, n) < 0) {
		s->refused++;
		return STACKS_FULL;
	}
	number = s->n++;
	s->entries[number] =
		(struct stack_entry){.hash = hash, .n = (uint32_t)n, .first = s->n_places};
	if (n)
		memcpy(s->places + s->n_places, places, n * sizeof(*places));
	s->n_places += n;
	for (i = hash & (s->n_slots - 1); s->slots[i];)
		i = (i + 1) & (s->n_slots - 1);
	s->slots[i] = number;
	return number;
}
