/* SPDX-License-Identifier: MIT */
#ifndef PERF_RING_H
#define PERF_RING_H

#include "attar/perf.h"
#include "base/base.h"
#include "base/vec.h"

enum { RING_RECORD_MAX = 65536 }; /* a record's size is 16 bits */

struct attar_ring {
	struct perf_event_mmap_page *page;
	const char *data;
	size_t size;     /* bytes of data: a power of two */
	uint64_t head;   /* how far the kernel had written at attar_ring_begin() */
	uint64_t tail;   /* what was passed so far; free running, as the kernel's are */
	uint64_t newest; /* where the newest passed record begins */
	int fd;
	int cpu;          /* -1: that of a thread, wherever it runs */
	pid_t tid;        /* of that thread; -1: of a CPU */
	unsigned process; /* that created it, see base/check.h */
	bool owns_fd;     /* the counter has another one now */
	bool broken; /* a record with an impossible size was met: nothing after it can be trusted */
	char *bounce; /* for a record that wraps; allocated at the first one */
	/*
	 * Of an overwritten ring, which is mapped read-only: head and tail stay 0. See overwrite.c.
	 */
	bool overwritten, backward, frozen;
	uint64_t seen; /* the kernel's head when it was frozen last: up to there all was given */
	uint64_t forgotten;      /* bytes that were overwritten before they were seen */
	VEC(uint64_t) positions; /* of the records of a frozen ring, oldest first */
	size_t next;             /* of positions */
};

/*
 * The record at the absolute position, of which bytes are readable; made whole in the bounce buffer
 * if it wraps.
 */
const struct perf_event_header *ring_record(
	struct attar_ring *r, uint64_t position, uint64_t readable);

/* The rare rest of ring_take(): a record that wraps, or one that cannot be. */
const struct perf_event_header *ring_take_odd(struct attar_ring *r);

/* The same for a frozen ring: the next of its positions. */
const struct perf_event_header *ring_take_frozen(struct attar_ring *r);

/* Where the byte at the absolute position is. */
static inline const char *ring_at(const struct attar_ring *r, uint64_t position)
{
	return r->data + (position & (r->size - 1));
}

/* attar_ring_next(), inlined for the stream. */
static inline const struct perf_event_header *ring_take(struct attar_ring *r)
{
	size_t offset = r->tail & (r->size - 1);
	const struct perf_event_header *header = (const void *)(r->data + offset);
	size_t size;

	if (r->tail == r->head)
		return r->frozen ? ring_take_frozen(r) : NULL;
	size = header->size;
	if (unlikely(size < sizeof(*header) || size > r->head - r->tail || size > r->size - offset))
		return ring_take_odd(r);
	r->newest = r->tail;
	r->tail += size;
	return header;
}

/*
 * attar_rings_freeze() without stopping the kernel: finds the records of the rings that are
 * overwritten.
 */
int rings_look(struct attar_ring *const *rings, size_t n);

/* Unmaps and frees one of attar_rings_new(); the array is the caller's to mend. */
void ring_free(struct attar_ring *ring);

/*
 * Appends why the kernel refused to map `bytes`: -EPERM is the limit on locked memory, -ENOMEM a
 * ring too large for the kernel's list of its pages (rb_alloc() in kernel/events/ring_buffer.c), or
 * a lack of memory.
 */
struct buf;
void ring_add_limit(struct buf *b, int error, size_t bytes);

/* Whether the fd of the counter writes to this ring. */
struct counter_fd;
bool ring_serves(
	const struct attar_ring *ring, const struct attar_counter *c, const struct counter_fd *it);

/* Sends one fd of the counter on to the ring of its CPU. */
int ring_redirect(struct attar_ring **rings, size_t n, const struct attar_counter *c,
	const struct counter_fd *it);

/* Adds rings for the CPUs that have none, as large as the others. */
int rings_extend(struct attar_ring ***rings, size_t *n, struct attar_counter *const *counters,
	size_t n_counters);

/* Sends the counter's fds from number `first` on to the rings of their CPUs. */
int rings_redirect(
	struct attar_ring **rings, size_t n, const struct attar_counter *c, size_t first);

#endif
