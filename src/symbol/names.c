/* SPDX-License-Identifier: MIT */
#include "symbol/names.h"

enum { CHUNK_BYTES = 16 << 10 };

struct names_chunk {
	struct names_chunk *next;
	size_t used, size;
	char text[];
};

static struct names_chunk *chunk_for(struct names *names, size_t n)
{
	struct names_chunk *chunk = names->chunks;
	size_t size = MAX(n, (size_t)CHUNK_BYTES - sizeof(*chunk));

	if (chunk && chunk->size - chunk->used >= n)
		return chunk;
	if (names->bytes + size > NAMES_MAX_BYTES)
		return NULL;
	chunk = malloc(sizeof(*chunk) + size);
	if (!chunk) {
		base_oom();
		return NULL;
	}
	*chunk = (struct names_chunk){.next = names->chunks, .size = size};
	names->chunks = chunk;
	names->bytes += size;
	return chunk;
}

const char *names_add(struct names *names, const char *text, size_t n)
{
	struct names_chunk *chunk;
	char *copy;

	if (n >= NAMES_MAX_BYTES)
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

void names_done(struct names *names)
{
	while (names->chunks) {
		struct names_chunk *next = names->chunks->next;

		free(names->chunks);
		names->chunks = next;
	}
	names->bytes = 0;
}
