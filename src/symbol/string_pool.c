/* SPDX-License-Identifier: MIT */
#include "symbol/string_pool.h"

enum { CHUNK_BYTES = 16 << 10 };

struct string_pool_chunk {
	struct string_pool_chunk *next;
	size_t used, size;
	char text[];
};

static struct string_pool_chunk *chunk_for(struct string_pool *names, size_t n)
{
	struct string_pool_chunk *chunk = names->chunks;
	size_t size = MAX(n, (size_t)CHUNK_BYTES - sizeof(*chunk));

	if (chunk && chunk->size - chunk->used >= n)
		return chunk;
	if (names->bytes + size > (names->max ?: STRING_POOL_MAX_BYTES))
		return NULL;
	chunk = malloc(sizeof(*chunk) + size);
	if (!chunk) {
		base_oom();
		return NULL;
	}
	*chunk = (struct string_pool_chunk){.next = names->chunks, .size = size};
	names->chunks = chunk;
	names->bytes += size;
	return chunk;
}

const char *string_pool_add(struct string_pool *names, const char *text, size_t n)
{
	struct string_pool_chunk *chunk;
	char *copy;

	if (n >= STRING_POOL_MAX_BYTES)
		return NULL;
	chunk = chunk_for(names, n + 1);
	if (!chunk)
		return NULL;
	copy = chunk->text + chunk->used;
	memcpy(copy, text, n);
	copy[n] = '\0';
	chunk->used += n + 1;
	return copy;
}

void string_pool_done(struct string_pool *names)
{
	while (names->chunks) {
		struct string_pool_chunk *next = names->chunks->next;

		free(names->chunks);
		names->chunks = next;
	}
	names->bytes = 0;
}
