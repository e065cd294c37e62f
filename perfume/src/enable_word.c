/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Allocator of enable words. Its memory is never unmapped, and a word is reused only after the
 * kernel has unregistered it, because the kernel writes to the address of a registered word at any
 * time.
 */
#include "internal.h"

#define CHUNK_WORDS 4096

struct chunk {
	struct chunk *next;
	uint64_t used[CHUNK_WORDS / 64];
	uint32_t words[CHUNK_WORDS];
};

static struct chunk *chunks;

static uint32_t *word_new(void)
{
	struct chunk *chunk;
	unsigned at, bit;

	for (chunk = chunks; chunk; chunk = chunk->next)
		for (at = 0; at < CHUNK_WORDS / 64; at++)
			if (~chunk->used[at])
				goto found;
	chunk = mmap(
		NULL, sizeof(*chunk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (chunk == MAP_FAILED)
		return NULL;
	chunk->next = chunks;
	chunks = chunk;
	at = 0;
found:
	bit = (unsigned)__builtin_ctzll(~chunk->used[at]);
	chunk->used[at] |= 1ULL << bit;
	return &chunk->words[at * 64 + bit];
}

static void word_free(const uint32_t *word)
{
	struct chunk *chunk = chunks;
	size_t at;

	while (word < chunk->words || word >= chunk->words + CHUNK_WORDS)
		chunk = chunk->next;
	at = (size_t)(word - chunk->words);
	chunk->used[at / 64] &= ~(1ULL << at % 64);
}
