/* SPDX-License-Identifier: MIT */
#include "stats/keyed.h"

#include <sys/auxv.h>

enum { SLOTS_FIRST = 64 };

/* 8 random bytes of the kernel, the same for the whole process. */
static uint64_t random_seed(void)
{
	const void *bytes = (const void *)getauxval(AT_RANDOM);
	uint64_t seed = 0;

	if (bytes)
		memcpy(&seed, bytes, sizeof(seed));
	return seed;
}

void keyed_init(struct keyed *k, size_t size, size_t key_max, size_t max)
{
	*k = (struct keyed){.size = ROUND_UP(size, 8),
		.key_max = ROUND_UP(MAX(key_max, sizeof(uint64_t)), 8),
		.max = (uint32_t)max,
		.seed = random_seed()};
	k->stride = sizeof(struct keyed_head) + k->size + k->key_max;
}

void keyed_done(struct keyed *k)
{
	for (size_t i = 0; i < k->n_chunks; i++)
		free(k->chunks[i]);
	free(k->chunks);
	free(k->slots);
	*k = (struct keyed){0};
}

void keyed_reset(struct keyed *k)
{
	for (uint32_t i = 0; i < k->begun; i++)
		keyed_head(keyed_at(k, i))->used = false;
	k->n = k->begun = k->unused = k->linked = 0;
	if (k->slots)
		memset(k->slots, 0, ((size_t)k->mask + 1) * sizeof(*k->slots));
}

size_t keyed_memory(const struct keyed *k)
{
	return k->n_chunks * KEYED_CHUNK * k->stride + k->room * sizeof(*k->chunks) +
	       (k->slots ? ((size_t)k->mask + 1) * sizeof(*k->slots) : 0);
}

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

/* Eight bytes at a time, and the length, so that a key and its prefix differ. */
uint64_t keyed_hash(const struct keyed *k, const void *bytes, size_t size)
{
	const char *p = bytes;
	uint64_t hash = k->seed ^ size, word;

	for (; size >= sizeof(word); p += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = mix(hash, word);
	}
	word = 0;
	if (size)
		memcpy(&word, p, size);
	return mix(hash, word);
}

int keyed_compare(const struct keyed *k, const void *a, const void *b)
{
	const struct keyed_head *x = keyed_head(a), *y = keyed_head(b);
	int order;

	if (x->key_size == sizeof(x->number) && y->key_size == sizeof(y->number))
		return (x->number > y->number) - (x->number < y->number);
	order = memcmp(keyed_bytes(k, a), keyed_bytes(k, b), MIN(x->key_size, y->key_size));
	return order ? order : (x->key_size > y->key_size) - (x->key_size < y->key_size);
}

static int add_chunk(struct keyed *k)
{
	char *chunk;

	if (k->n_chunks == k->room) {
		size_t room = k->room ? k->room * 2 : 4;
		char **chunks = realloc(k->chunks, room * sizeof(*chunks));

		if (!chunks)
			return base_oom();
		k->chunks = chunks;
		k->room = room;
	}
	chunk = calloc(KEYED_CHUNK, k->stride);
	if (!chunk)
		return base_oom();
	k->chunks[k->n_chunks++] = chunk;
	return 0;
}

static void keyed_insert(struct keyed *k, struct keyed_slot slot)
{
	uint32_t i = slot.hash & k->mask;

	while (k->slots[i].entry)
		i = (i + 1) & k->mask;
	k->slots[i] = slot;
	k->linked++;
}

/* At most half of the slots are in use. */
static int grow_slots(struct keyed *k)
{
	size_t old_size = k->slots ? (size_t)k->mask + 1 : 0;
	size_t size = old_size ? old_size * 2 : SLOTS_FIRST;
	struct keyed_slot *old = k->slots, *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return base_oom();
	k->slots = slots;
	k->mask = (uint32_t)(size - 1);
	k->linked = 0;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].entry)
			keyed_insert(k, old[i]);
	free(old);
	return 0;
}

int keyed_make_room(struct keyed *k)
{
	struct keyed_head *head;

	if (keyed_is_full(k))
		return -ENOMEM;
	if ((!k->slots || k->n >= (k->mask + 1) / 2) && grow_slots(k) < 0)
		return -ENOMEM;
	if (k->unused)
		return 0;
	if (k->begun == k->n_chunks * KEYED_CHUNK && add_chunk(k) < 0)
		return -ENOMEM;
	head = keyed_head(keyed_at(k, k->begun));
	head->index = k->begun++;
	head->number = 0;
	k->unused = head->index + 1;
	return 0;
}

void keyed_link(struct keyed *k, void *entry)
{
	const struct keyed_head *head = keyed_head(entry);

	keyed_insert(k, (struct keyed_slot){keyed_slot_hash(k, head->number), head->index + 1});
}

static uint32_t slot_of(const struct keyed *k, const void *entry)
{
	const struct keyed_head *head = keyed_head(entry);
	uint32_t i = keyed_slot_hash(k, head->number) & k->mask;

	while (k->slots[i].entry != head->index + 1)
		i = (i + 1) & k->mask;
	return i;
}

/* Backward-shift deletion: moves later slots of the run that would no longer be found. */
void keyed_unlink(struct keyed *k, void *entry)
{
	uint32_t gap = slot_of(k, entry), i;

	for (i = (gap + 1) & k->mask; k->slots[i].entry; i = (i + 1) & k->mask) {
		uint32_t home = k->slots[i].hash & k->mask;

		if (((i - home) & k->mask) < ((i - gap) & k->mask))
			continue;
		k->slots[gap] = k->slots[i];
		gap = i;
	}
	k->slots[gap] = (struct keyed_slot){0};
	k->linked--;
}

void *keyed_from(const struct keyed *k, uint32_t index)
{
	for (; index < k->begun; index++) {
		void *entry = keyed_at(k, index);

		if (keyed_head(entry)->used)
			return entry;
	}
	return NULL;
}
