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
	slots_done(&s->slots);
	*s = (struct stacks){0};
}

static inline uint64_t mix(uint64_t hash, uint64_t location)
{
	hash = (hash ^ location) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/* Two hashes of every other location each, which the CPU computes at the same time. */
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
		       s->n * (sizeof(*s->entries) + 2 * sizeof(*s->slots.at));

	if (bytes > s->max_bytes || words > UINT32_MAX)
		return -ENOSPC;
	if (slots_make_room(&s->slots) < 0 || (s->n >= s->room && grow_entries(s) < 0))
		return -ENOMEM;
	return words > s->room_locations ? grow_locations(s, 1 + n) : 0;
}

/* The number of a known stack; 0: it is new. */
static uint32_t stacks_find(
	const struct stacks *s, const uint64_t *locations, size_t n, uint32_t hash)
{
	slots_each (&s->slots, hash, at) {
		const uint64_t *known = s->locations + at;

		if (known[-1] >> 32 == n && !memcmp(known, locations, n * sizeof(*locations)))
			return (uint32_t)known[-1];
	}
	return 0;
}

uint32_t stacks_intern(struct stacks *s, const uint64_t *locations, size_t n)
{
	uint32_t hash = hash_locations(locations, n), at;
	uint32_t number = stacks_find(s, locations, n, hash);

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
	slots_put(&s->slots, (struct slot){hash, at});
	return number;
}
