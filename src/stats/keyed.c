/* SPDX-License-Identifier: MIT */
#include "stats/keyed.h"

#include <sys/auxv.h>

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
	slots_done(&k->slots);
	*k = (struct keyed){0};
}

void keyed_reset(struct keyed *k)
{
	for (uint32_t i = 0; i < k->begun; i++)
		keyed_head(keyed_at(k, i))->used = false;
	k->n = k->begun = k->unused = 0;
	slots_reset(&k->slots);
}

size_t keyed_memory(const struct keyed *k)
{
	return k->n_chunks * KEYED_CHUNK * k->stride + k->room * sizeof(*k->chunks) +
	       slots_memory(&k->slots);
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

int keyed_make_room(struct keyed *k)
{
	struct keyed_head *head;

	if (keyed_is_full(k))
		return -ENOMEM;
	if (k->n >= (k->slots.mask + 1) / 2 && slots_grow(&k->slots) < 0)
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

	slots_put(&k->slots, (struct slot){keyed_slot_hash(k, head->number), head->index + 1});
}

void keyed_unlink(struct keyed *k, void *entry)
{
	const struct keyed_head *head = keyed_head(entry);

	slots_remove(&k->slots, keyed_slot_hash(k, head->number), head->index + 1);
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
