/* SPDX-License-Identifier: MIT */
/*
 * Allocations and frees of memory, matched by address: what kmemleak and kmemprof have in common.
 *
 * An allocation is one event with an address and a size (kmem:kmalloc), or two of the same thread:
 * a call with the size, and its return with the address (uprobe and uretprobe of malloc).
 */
#ifndef PROFILERS_MEMORY_ALLOCATIONS_H
#define PROFILERS_MEMORY_ALLOCATIONS_H

#include "attar/run.h"
#include "lib/by_source.h"
#include "lib/kernel_frames.h"

enum { ALLOCATION_COMM = 16 };

/* An allocation, kept until its free. */
struct allocation {
	uint64_t size;  /* bytes */
	uint32_t stack; /* number in allocations.stacks; 0: none */
	uint32_t event; /* number of the event with the address, for allocations_name() */
	char comm[ALLOCATION_COMM];
	bool is_perf;   /* frames_are_of_perf(): only known so that its free is */
	uint64_t space; /* process of an address in user space, otherwise 0 */
	uint64_t ptr;
};

/* The key of an open allocation: addresses in user space belong to a process. */
struct allocation_key {
	uint64_t space, ptr;
};

struct allocations {
	/* options */
	struct attar_texts alloc, free;
	const char *key; /* the address in events without ptr=; NULL: their field ptr */
	uint64_t max;    /* open allocations to remember */
	bool graph;

	const char *const *names; /* of events, by their number; NULL: the names of allocs */
	struct by_source allocs, frees;
	bool has_calls;            /* an event has a size only: the address follows */
	bool has_stacks;           /* of some events */
	bool has_sizes;            /* of some events; without, allocations are counted only */
	bool misses_frees;         /* of the kernel's memory, by tasks that are not selected */
	struct attar_pairs *open;  /* by address */
	struct attar_pairs *calls; /* by thread */
	struct attar_stack_table *stacks;
	struct frames *frames;
	struct left_out perf;
};

/* Adds the events of --alloc and --free, and creates the tables. */
int allocations_add(struct allocations *a, struct attar_run *run, attar_event_fn *on_alloc,
	attar_event_fn *on_free);

/* Only the tables, for events that the profiler adds itself. */
int allocations_create_tables(struct allocations *a);

/*
 * Reads an alloc event. Returns 1 and the allocation; 0: there is none (yet), or it is left out; or
 * a negative errno; likewise allocations_end().
 */
int allocations_take(struct allocations *a, struct attar_run *run, const struct attar_event *ev,
	struct allocation *ret_made);

/* Keeps an allocation until its free. */
void allocations_keep(
	struct allocations *a, const struct attar_event *ev, const struct allocation *made);

/* The allocation that a free event ends, and its age in ns. */
int allocations_end(struct allocations *a, struct attar_run *run, const struct attar_event *ev,
	struct allocation *ret_freed, uint64_t *ret_age);

void allocations_lost(struct allocations *a, const struct attar_event *ev);
void allocations_exited(struct allocations *a, const struct attar_event *ev);

/* The name of an alloc event. */
const char *allocations_name(const struct allocations *a, uint32_t event);

/* Adds the stack under the newest row. */
void allocations_add_stack(const struct allocations *a, struct attar_run *run,
	struct attar_section *section, uint32_t stack);

/* Adds the stack of an allocation to an aggregate, with its size. */
int allocations_weigh(
	const struct allocations *a, struct attar_stacks *stacks, const struct allocation *made);

/* How that aggregate is shown. */
const struct attar_stacks_opts *allocations_stacks_opts(const struct allocations *a);

/* Adds a cell: the bytes, or none if no event has sizes. */
void allocations_add_bytes(
	const struct allocations *a, struct attar_section *section, uint64_t bytes);

/* Adds remarks on events that were left out, or could not be matched or kept. */
void allocations_add_remarks(
	struct allocations *a, struct attar_report *report, enum attar_scope scope);

void allocations_done(struct allocations *a);

#endif
