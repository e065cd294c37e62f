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

static inline uint64_t mix(uint64_t hash, uint64_t location)
{
	hash = (hash ^ location) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/* Of every other location each, which the CPU computes at the same time. */
static uint32_t hash_locations(const uint64_t *locations, size_t n)
{
	uint64_t even = n, odd = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		even = mix(even, locations[i]);
		odd = mix(odd, locations[i + 1]);
	}
	if (n % 2)
		even = mix(even, locations[n - 1]);
	return (uint32_t)base_hash64(mix(even, odd));
}

/* The word in front of the locations of a stack, so that comparing them reads one place only. */
static inline uint64_t head_word(uint32_t number, size_t n)
{
	return (uint64_t)n << 32 | number;
}

/* The free slot where a new stack belongs. */
static struct stack_slot *free_slot(const struct stacks *s, uint32_t hash)
{
	size_t i = hash & (s->n_slots - 1);

	while (s->slots[i].at)
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
		if (old[i].at)
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
	size_t words = s->n_locations + 1 + n;
	size_t bytes = words * sizeof(*s->locations) +
		       s->n * (sizeof(*s->entries) + 2 * sizeof(*s->slots));

	if (bytes > s->max_bytes || words > UINT32_MAX)
		return -ENOSPC;
	if ((size_t)(s->n + 1) * 2 > s->n_slots && grow_slots(s) < 0)
		return -ENOMEM;
	if (s->n >= s->room && grow_entries(s) < 0)
		return -ENOMEM;
	return words > s->room_locations ? grow_locations(s, 1 + n) : 0;
}

/* The number of a known stack; 0: it is new. */
static uint32_t stacks_find(
	const struct stacks *s, const uint64_t *locations, size_t n, uint32_t hash)
{
	size_t i = hash & (s->n_slots - 1);

	for (; s->slots[i].at; i = (i + 1) & (s->n_slots - 1)) {
		const uint64_t *known = s->locations + s->slots[i].at;

		if (s->slots[i].hash == hash && known[-1] >> 32 == n &&
			!memcmp(known, locations, n * sizeof(*locations)))
			return (uint32_t)known[-1];
	}
	return 0;
}

uint32_t stacks_intern(struct stacks *s, const uint64_t *locations, size_t n)
{
	uint32_t hash = hash_locations(locations, n), number, at;

	number = s->n_slots ? stacks_find(s, locations, n, hash) : 0;
	if (number)
		return number;
	if (make_room(s, n) < 0) {
		s->refused++;
		return STACKS_FULL;
	}
	number = s->n++;
	s->locations[s->n_locations++] = head_word(number, n);
	at = (uint32_t)s->n_locations;
	s->entries[number] = (struct stack_entry){.n = (uint32_t)n, .first = at};
	if (n)
		memcpy(s->locations + at, locations, n * sizeof(*locations));
	s->n_locations += n;
	*free_slot(s, hash) = (struct stack_slot){.at = at, .hash = hash};
	return number;
}
