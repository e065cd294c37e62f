/* SPDX-License-Identifier: MIT */
#include "perfdata/chunk.h"

static void unlink_chunk(struct recording_chunk **list, struct recording_chunk *chunk)
{
	if (chunk->previous)
		chunk->previous->next = chunk->next;
	else
		*list = chunk->next;
	if (chunk->next)
		chunk->next->previous = chunk->previous;
}

static void link_chunk(struct recording_chunk **list, struct recording_chunk *chunk)
{
	chunk->previous = NULL;
	chunk->next = *list;
	if (*list)
		(*list)->previous = chunk;
	*list = chunk;
}

/* NULL if out of memory. With one reference. */
static struct recording_chunk *chunk_new(struct chunk_pool *pool)
{
	struct recording_chunk *chunk = pool->spare;

	if (chunk) {
		unlink_chunk(&pool->spare, chunk);
		pool->n_spare--;
	} else {
		chunk = malloc(sizeof(*chunk));
		if (!chunk) {
			base_oom();
			return NULL;
		}
	}
	chunk->refs = 1;
	link_chunk(&pool->used, chunk);
	return chunk;
}

void chunk_release(struct chunk_pool *pool, struct recording_chunk *chunk)
{
	if (!chunk || --chunk->refs)
		return;
	unlink_chunk(&pool->used, chunk);
	if (pool->n_spare == CHUNK_SPARE) {
		free(chunk);
		return;
	}
	link_chunk(&pool->spare, chunk);
	pool->n_spare++;
}

static void free_list(struct recording_chunk *chunk)
{
	while (chunk) {
		struct recording_chunk *next = chunk->next;

		free(chunk);
		chunk = next;
	}
}

void chunk_pool_done(struct chunk_pool *pool)
{
	free_list(pool->used);
	free_list(pool->spare);
	*pool = (struct chunk_pool){0};
}

ssize_t feed_room(struct chunk_pool *pool, struct feed *feed)
{
	size_t len = feed_len(feed);

	if (feed->chunk && feed->chunk->refs == 1 && !len)
		feed->at = feed->end = 0;
	if (feed->chunk && feed->end <= CHUNK_BYTES / 2)
		return (ssize_t)(CHUNK_BYTES - feed->end);
	if (!feed->chunk || feed->chunk->refs > 1) {
		struct recording_chunk *chunk = chunk_new(pool);

		if (!chunk)
			return -ENOMEM;
		if (len)
			memcpy(chunk->words, feed_bytes(feed), len);
		chunk_release(pool, feed->chunk);
		feed->chunk = chunk;
	} else if (len) {
		memmove(feed->chunk->words, feed_bytes(feed), len);
	}
	feed->at = 0;
	feed->end = len;
	return (ssize_t)(CHUNK_BYTES - len);
}

const void *feed_copy(struct chunk_pool *pool, struct feed *feed, const void *bytes, size_t len)
{
	void *copy;

	if (!feed->chunk || CHUNK_BYTES - feed->end < len) {
		struct recording_chunk *chunk = chunk_new(pool);

		if (!chunk)
			return NULL;
		chunk_release(pool, feed->chunk);
		*feed = (struct feed){.chunk = chunk};
	}
	copy = (char *)feed->chunk->words + feed->end;
	memcpy(copy, bytes, len);
	feed->end = ROUND_UP(feed->end + len, 8);
	return copy;
}
