/* SPDX-License-Identifier: MIT */
/*
 * The privilege modes in which an event is sampled, as the modifiers u, k and h select them, and
 * those of its samples.
 */
#ifndef RUN_MODES_H
#define RUN_MODES_H

#include "attar/run.h"
#include "run/sources.h"

enum { MODE_USER = 1, MODE_KERNEL = 2, MODE_HV = 4 };

/* How well an event of a recording has the modes of a source. */
enum modes_fit {
	FIT_NONE,  /* none of them */
	FIT_PARTS, /* some, and no others */
	FIT_MORE,  /* all, and others: samples are selected */
	FIT_EXACT,
};

/* Those of the hypervisor only matter to events that are not sampled in the others. */
unsigned modes_of(const struct perf_event_attr *attr);

/* Those that the event of a source is requested in. */
unsigned modes_of_source(const struct source *s);

enum modes_fit modes_fit(unsigned wanted, unsigned recorded);

/* Whether a sample is one of these modes; 0, or user and kernel: all. */
bool modes_have(unsigned modes, const struct attar_event *ev);

/*
 * Whether samples of one of these events can have the id of the other: the kernel passes one struct
 * perf_sample_data to all software events of the same kind and sets the id for the first of them
 * only (seen on 6.18). Clocks have timers of their own.
 */
bool modes_share_ids(const struct perf_event_attr *a, const struct perf_event_attr *b);

/* "user code", for messages. */
const char *modes_text(unsigned modes);

#endif
