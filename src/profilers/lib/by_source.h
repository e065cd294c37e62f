/* SPDX-License-Identifier: MIT */
/*
 * The data of a profiler about each of its events, such as compiled attributes, by source.
 *
 *	struct by_source sums = {.size = sizeof(struct sum), .learn = learn_sum};
 *
 *	attar_run_events(run, text, false, on_event);
 *	by_source_learn(&sums, run, self, first);
 *	...
 *	r = by_source_get(&sums, run, self, ev->counter, &sum);
 *
 * Numbers of sources are final with the first event: sources of refused events are removed before.
 * Events that appear during the run are learned when the first of them is delivered.
 */
#ifndef PROFILERS_LIB_BY_SOURCE_H
#define PROFILERS_LIB_BY_SOURCE_H

#include "attar/run.h"

struct by_source_entry;

struct by_source {
	size_t size; /* of the profiler's struct for an event, which begins zeroed */
	int (*learn)(struct attar_run *run, void *self, uint32_t source, void *event);
	void (*forget)(void *event); /* frees what the struct owns; may be NULL */

	struct by_source_entry *entries;
	uint32_t n;
	uint32_t *bound; /* by source: number of the entry + 1; 0: not known yet */
	uint32_t n_bound;
};

/* From open(): learns the sources from `first` to the last one. */
int by_source_learn(struct by_source *t, struct attar_run *run, void *self, uint32_t first);

/*
 * Whether an event of -e stands for events that programs register. It never occurs; those that are
 * registered get their own sources.
 */
bool by_source_is_dummy(const struct attar_event_spec *spec);

/* The struct of a source: from an event function. *ret_event is a pointer to the struct. */
int by_source_get(
	struct by_source *t, struct attar_run *run, void *self, uint32_t source, void *ret_event);

/* The i-th struct in the order of learning; NULL after the last. */
void *by_source_at(const struct by_source *t, uint32_t i);

/* The struct of the event of -e that an event of programs was found for; NULL: it is of -e. */
void *by_source_asked(const struct by_source *t, const struct attar_event_spec *spec);

void by_source_done(struct by_source *t);

#endif
