/* SPDX-License-Identifier: MIT */
/*
 * Sampled allocations that were not freed, by process and address: a hash table with open
 * addressing, of 40 bytes an entry, because there can be millions.
 */
#ifndef PROFILERS_HEAP_LIVE_H
#define PROFILERS_HEAP_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_object {
	uint64_t address;
	uint32_t pid;   /* 0: the entry is empty */
	uint32_t stack; /* number of its row */
	uint64_t size;  /* bytes */
	uint64_t born;  /* ns */
	double weight;  /* how many allocations it stands for */
};

enum { LIVE_PROCESSES = 4096 };

struct live {
	struct live_object *at;
	size_t n, room; /* room: 0 or a power of two */
	size_t max;     /* of n */
	uint64_t refused;
	uint32_t of_process[LIVE_PROCESSES]; /* objects of processes, by pid modulo the size */
};

/* False: the process has no objects. True: it may have. */
static inline bool live_may_have(const struct live *live, uint32_t pid)
{
	return live->of_process[pid % LIVE_PROCESSES];
}

/* The object; NULL: there is none. Borrowed until the next call. */
struct live_object *live_find(const struct live *live, uint32_t pid, uint64_t address);

/* Adds an object that is not in the table. Returns 1; 0: the table is full; or -ENOMEM. */
int live_add(struct live *live, const struct live_object *object);

/* The object is an entry of the table. */
void live_remove(struct live *live, struct live_object *object);

/*
 * Iterates over the objects: the one after `object`, the first for NULL, NULL after the last. After
 * the removal of an object, live_again() goes on with what is in its place.
 */
struct live_object *live_next(const struct live *live, const struct live_object *object);
struct live_object *live_again(const struct live *live, const struct live_object *object);

void live_done(struct live *live);

#endif
