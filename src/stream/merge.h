/* SPDX-License-Identifier: MIT */
/*
 * A min-heap over the heads of rings: each ring is in order of time already, so it gives the order
 * of all.
 */
#ifndef STREAM_MERGE_H
#define STREAM_MERGE_H

#include "attar/perf.h"
#include "base/base.h"

/*
 * Of a counter in a ring: what it had counted at the start, and the samples that have arrived
 * since.
 */
struct counter_table {
	uint64_t raw, lost, arrived;
};

/* A ring and the record at its front. */
struct cursor {
	struct attar_ring *ring;
	const struct perf_event_header *header; /* NULL: the ring is empty for now */
	uint64_t time;                          /* of header */
	uint64_t passed_time;                   /* of the record before it */
	struct counter_table *tallies;          /* one for each counter; owned by the stream */
	uint64_t strays;                        /* records that are of no counter */
	uint64_t give_back; /* space goes back to the kernel once the ring's tail is beyond */
};

struct merge {
	struct cursor **heap; /* owned; room for every cursor */
	size_t n;
};

void merge_push(struct merge *m, struct cursor *c);

/* The cursor with the earliest record; NULL when the heap is empty. */
static inline struct cursor *merge_first(const struct merge *m)
{
	return m->n ? m->heap[0] : NULL;
}

/* The time up to which the first cursor stays the first; UINT64_MAX when it is the only one. */
static inline uint64_t merge_second_time(const struct merge *m)
{
	uint64_t left = m->n > 1 ? m->heap[1]->time : UINT64_MAX;
	uint64_t right = m->n > 2 ? m->heap[2]->time : UINT64_MAX;

	return MIN(left, right);
}

/* Restores the order of several after the first cursor's time has grown. */
void merge_sink(struct merge *m);

static inline void merge_sink_first(struct merge *m)
{
	if (m->n > 1)
		merge_sink(m);
}

/* Takes the first cursor out. */
void merge_drop_first(struct merge *m);

#endif
