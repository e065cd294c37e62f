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
	uint64_t head;   /* the kernel's position at attar_ring_begin() */
	uint64_t tail;   /* the read position; free-running, as the kernel's */
	uint64_t newest; /* position of the newest record already read */
	uint64_t watermark; /* written bytes after which the kernel wakes a reader; 0: events */
	int fd;
	int cpu;          /* -1: a thread's ring, on any CPU */
	pid_t tid;        /* of that thread; -1: a CPU's ring */
	unsigned process; /* the process that created it, see base/check_arg.h */
	bool owns_fd;     /* the counter has another fd now */
	bool broken;      /* a record with an invalid size was found: no further records are read */
	char *bounce;     /* for records that wrap: RING_RECORD_MAX bytes */
	/*
	 * For overwritable rings, which are mapped read-only: head and tail stay 0. See
	 * overwrite.c.
	 */
	bool overwritten, backward, frozen;
	uint64_t
		seen; /* the kernel's head at the last freeze: all records up to it were returned */
	uint64_t forgotten;      /* bytes overwritten before a freeze */
	bool wrapped;            /* some were before the newest freeze */
	VEC(uint64_t) positions; /* of the records of a frozen ring, oldest first */
	size_t next;             /* of positions */
};

/*
 * The record at the absolute position, with `bytes` readable; copied to the bounce buffer if it
 * wraps.
 */
const struct perf_event_header *ring_record(
	struct attar_ring *r, uint64_t position, uint64_t readable);

/* The slow path of ring_take(): a record that wraps or is invalid. */
const struct perf_event_header *ring_take_odd(struct attar_ring *r);

/* The same for a frozen ring: the record at its next position. */
const struct perf_event_header *ring_take_frozen(struct attar_ring *r);

/* How many bytes were written after the read position, now. */
static inline uint64_t ring_unread(const struct attar_ring *r)
{
	return __atomic_load_n(&r->page->data_head, __ATOMIC_RELAXED) - r->tail;
}

/* The address of the byte at the absolute position. */
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

/* rings_freeze() without pausing output: finds the records of the overwritable rings. */
int rings_look(struct attar_ring *const *rings, size_t n);

/* Unmaps and frees one ring of attar_rings_new(); the caller updates the array. */
void ring_free(struct attar_ring *ring);

/*
 * Appends why the kernel refused to map `bytes`: -EPERM is the limit on locked memory; -ENOMEM is a
 * ring too large for the kernel's page list (rb_alloc() in kernel/events/ring_buffer.c), or lack of
 * memory.
 */
struct buf;
void ring_add_limit(struct buf *b, int error, size_t bytes);

/* True if the fd of the counter writes to this ring. */
struct counter_fd;
bool ring_serves(
	const struct attar_ring *ring, const struct attar_counter *c, const struct counter_fd *it);

/* Redirects one fd of the counter to the ring of its CPU. */
int ring_redirect(struct attar_ring **rings, size_t n, const struct attar_counter *c,
	const struct counter_fd *it);

/* Adds rings for CPUs without one, with the size of the others. */
int rings_extend(struct attar_ring ***rings, size_t *n, struct attar_counter *const *counters,
	size_t n_counters);

/* Redirects the counter's fds from index `first` on to the rings of their CPUs. */
int rings_redirect(
	struct attar_ring **rings, size_t n, const struct attar_counter *c, size_t first);

#endif
