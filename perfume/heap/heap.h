/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Internals of libperfume-heap.so, which is preloaded into a program: it samples the memory that
 * the program allocates and writes each sampled allocation, and its free, as events of libperfume.
 *
 * calls.c replaces malloc() and its relatives. While nobody listens to the events, a call costs a
 * load and a branch more. sample.c decides which allocations are sampled, walk.c finds their
 * stacks, set.c remembers their addresses until they are freed, and events.c writes the events.
 *
 * Invariants:
 * - No function here allocates from the heap, and errno is unchanged.
 * - An address is removed from the set, and its free is written, before the memory is given back:
 *   another thread may get the same address right afterwards.
 */
#ifndef HEAP_H
#define HEAP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stddef.h>
#include <stdint.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum {
	HEAP_FRAMES_MAX = 256,
	HEAP_INTERVAL = 512 * 1024, /* bytes, by default */
};

/* Which function has allocated, in events. The values do not change. */
enum heap_call { HEAP_MALLOC, HEAP_CALLOC, HEAP_REALLOC, HEAP_ALIGNED, HEAP_MMAP };

/* What happens to an address, in events; greater: as many bytes of a mapping are unmapped. */
enum {
	HEAP_FREED = 0,
	HEAP_KEPT = 1, /* the call that was to free it has failed */
};

/* ---- events.c ---- */

/* Registers the events, and says that the program has begun. Does nothing after the first call. */
void heap_events_begin(void);
void heap_events_alloc(const void *address, size_t size, double weight, enum heap_call call,
	const uint64_t *stack, size_t n);
void heap_events_free(const void *address, uint64_t how);

/* ---- calls.c ---- */

/* Whether calls of malloc() reach this library: a program may have its own malloc(). */
int heap_is_used(void);

/* The enable word of the events: 0 while nobody listens. */
extern uint32_t perfume_word_heap_alloc __attribute__((visibility("hidden")));

/* ---- sample.c ---- */

extern uint64_t heap_interval; /* mean number of bytes from one sample to the next; 1: all calls */
extern uint8_t heap_maps;      /* mappings are watched, too */

struct heap_thread {
	int64_t left;   /* bytes until the next sample */
	uint32_t busy;  /* in this library, whose own allocations do not count */
	uint32_t epoch; /* of the random numbers: heap_epoch, or they have to be seeded */
	uint64_t random;
};

extern __thread struct heap_thread heap_thread __attribute__((tls_model("initial-exec")));

void heap_sample_begin(void);
void heap_sample_take(const void *address, size_t size, enum heap_call call);
/* Before the memory is given back. Returns whether the free was written. */
int heap_sample_give(const void *address);
/* It was not given back after all. */
void heap_sample_keep(const void *address);
void heap_sample_unmap(const void *address, size_t size);

/*
 * ---- set.c: the addresses of sampled allocations ----
 *
 * A hash table of buckets. Most frees look at the number of addresses in one bucket only.
 */
enum { HEAP_SET_BITS = 14, HEAP_SET_WAYS = 8 };

/* The set has once been full: each free is written from then on. Also with an interval of 1. */
extern uint8_t heap_set_all;
extern uint8_t heap_set_counts[1 << HEAP_SET_BITS];

static inline size_t heap_set_bucket(const void *address)
{
	return (size_t)(((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >>
			(64 - HEAP_SET_BITS));
}

/* False: the address is not in the set. True: it may be. */
static inline int heap_set_may_have(const void *address)
{
	return heap_set_all ||
	       __atomic_load_n(&heap_set_counts[heap_set_bucket(address)], __ATOMIC_RELAXED);
}

void heap_set_add(const void *address);
/* Returns whether the address was in the set, or the set does not know. */
int heap_set_remove(const void *address);

/* ---- code ---- */

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static inline int heap_is_own(uint64_t address)
{
	return address - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

/* ---- walk.c ---- */

/* The return addresses of the callers of this library, innermost first. Returns their number. */
size_t heap_walk(uint64_t *frames, size_t max);

/* Code was unloaded: forget what is known about it. */
void heap_walk_forget(void);

#endif
