/* SPDX-License-Identifier: MIT */
/*
 * Allocations of programs: probes of malloc(3) and its relatives and of mmap(2), in the file where
 * the watched program has them.
 *
 * A call that another one of them makes, such as mmap() of malloc(), is part of that one. Calls of
 * a thread are matched with their returns by the stack pointer, so that calls that do not return
 * (longjmp) and names of the same function (memalign, aligned_alloc) do no harm.
 */
#ifndef PROFILERS_MEMORY_HEAP_H
#define PROFILERS_MEMORY_HEAP_H

#include "memory/allocations.h"

/* The state of the profiler begins with it: event functions get the state of the profiler. */
struct heap {
	struct allocations allocations;
	struct attar_pairs *calls; /* by thread */
	uint64_t allocated, allocated_bytes, freed, freed_bytes;
	uint64_t unread; /* allocations whose address is not known */
};

/* Adds the events, and creates the tables. Only from open(). */
int heap_open(struct heap *h, struct attar_run *run);

void heap_lost(struct heap *h, const struct attar_event *ev);
void heap_exited(struct heap *h, const struct attar_event *ev);

/* A record that is not a sample: exec(2) drops the memory of a process. */
void heap_record(struct heap *h, const struct attar_event *ev);

void heap_add_remarks(const struct heap *h, struct attar_report *report);

void heap_done(struct heap *h);

#endif
