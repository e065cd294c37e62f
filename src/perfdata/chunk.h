/* SPDX-License-Identifier: MIT */
/*
 * Buffers that records are read into. A chunk is shared by the feed that fills it and by the parts
 * that borrow its records, and is reused when the last of them releases it.
 */
#ifndef PERFDATA_CHUNK_H
#define PERFDATA_CHUNK_H

#include "base/base.h"

enum {
	/* Small enough to stay in a CPU's cache while it is filled and parsed. */
	CHUNK_BYTES = 128 << 10,
	CHUNK_SPARE = 4, /* unused chunks that a pool keeps */
};

struct recording_chunk {
	struct recording_chunk *next, *previous; /* in the pool's list of used or spare chunks */
	unsigned refs;
	uint64_t words[CHUNK_BYTES / 8];
};

struct chunk_pool {
	struct recording_chunk *used, *spare;
	size_t n_spare;
};

/* Bytes that were read and not yet consumed: from at to end in the chunk. */
struct feed {
	struct recording_chunk *chunk; /* a reference; NULL before the first read */
	size_t at, end;
	uint64_t offset; /* of the byte at `at` in the input */
};

void chunk_release(struct chunk_pool *pool, struct recording_chunk *chunk);
/* Frees all chunks, also those in use. */
void chunk_pool_done(struct chunk_pool *pool);

static inline char *feed_bytes(const struct feed *feed)
{
	return (char *)feed->chunk->words + feed->at;
}

static inline size_t feed_len(const struct feed *feed)
{
	return feed->end - feed->at;
}

static inline void feed_consume(struct feed *feed, size_t n)
{
	feed->at += n;
	feed->offset += n;
}

/*
 * Makes room after end. If less than half of the chunk is left, the unread bytes (at most 64 KiB)
 * move to its start, or to the start of a new one if parts borrow this one. Returns the room in
 * bytes, at least half a chunk; or -ENOMEM.
 */
ssize_t feed_room(struct chunk_pool *pool, struct feed *feed);

/*
 * Appends at most CHUNK_BYTES bytes to a feed that is only used for copies, at an address aligned
 * to 8. Returns their address in feed->chunk; NULL if out of memory.
 */
const void *feed_copy(struct chunk_pool *pool, struct feed *feed, const void *bytes, size_t len);

#endif
