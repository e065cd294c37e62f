/* SPDX-License-Identifier: MIT */
/*
 * A min-heap over the first records of all rings. Each ring is in time order, so the heap gives the
 * global order.
 */
#ifndef STREAM_MERGE_H
#define STREAM_MERGE_H

#include "attar/perf.h"
#include "base/base.h"
#include "stream/sample_run.h"

/*
 * Per counter and ring: the counts at the start, and the number of samples that have arrived since.
 */
struct counter_table {
	uint64_t raw, lost, arrived;
};

struct replay_part;

/* A sequence of records in time order, and the record at its front: a ring, or bytes of a file. */
struct cursor {
	struct attar_ring *ring;                /* NULL: bytes of a recording */
	const char *at, *end;                   /* of a recording: the records after the front */
	struct replay_part *part;               /* that they belong to */
	const struct perf_event_header *header; /* NULL: empty for now */
	uint64_t time;                          /* of header, ns */
	uint64_t passed_time;                   /* of the record before it */
	struct counter_table *counts;           /* one for each counter; owned by the stream */
	uint64_t strays;                        /* records of no counter */
	uint64_t give_back; /* space is released once the ring's tail exceeds this */
	uint64_t lost;      /* samples, according to the losses that were delivered */
	uint64_t lost_side; /* side-band records that were subtracted from LOST records */
	struct {            /* after the last record of the ring, see stream_has_final_loss() */
		struct perf_event_header header;
		uint64_t lost;
	} final_loss;
	struct sample_run run;
};

struct merge {
	struct cursor **heap; /* owned; room for every cursor */
	size_t n;
};

void merge_push(struct merge *m, struct cursor *c);

/* The cursor with the earliest record; NULL if the heap is empty. */
static inline struct cursor *merge_first(const struct merge *m)
{
	return m->n ? m->heap[0] : NULL;
}

/* The time up to which the first cursor stays first; UINT64_MAX if it is the only one. */
static inline uint64_t merge_second_time(const struct merge *m)
{
	uint64_t left = m->n > 1 ? m->heap[1]->time : UINT64_MAX;
	uint64_t right = m->n > 2 ? m->heap[2]->time : UINT64_MAX;

	return MIN(left, right);
}

/* Restores the heap order after the first cursor's time has increased. */
void merge_sink(struct merge *m);

static inline void merge_sink_first(struct merge *m)
{
	if (m->n > 1)
		merge_sink(m);
}

/* Removes the first cursor. */
void merge_drop_first(struct merge *m);

#endif
