/* SPDX-License-Identifier: MIT */
/*
 * Sources of the same event, such as sched:sched_switch as start and as end of pairs, share one
 * counter: the kernel writes each event once, and it is delivered to each of these sources, with
 * its number, fields and filter in attar.
 *
 * Software events that only differ in the modifiers u and k share one, too, in the modes of all of
 * them: each source has the samples in its own.
 *
 * The first of them has the counter and is the head of a list of the others.
 */
#ifndef RUN_SOURCE_SHARED_COUNTER_H
#define RUN_SOURCE_SHARED_COUNTER_H

#include "run/source/sources.h"

/* Whether the kernel writes the same records for both, which can be different in attar. */
bool shared_is_same_event(const struct source *a, const struct source *b);

/* Before the sources are opened: gives those that can share a counter the same modes. */
void shared_prepare(struct attar_run *run);

/* Whether a source that is being opened uses the counter of an earlier one. */
bool shared_is_open(const struct attar_run *run, const struct source *s);

/*
 * When all sources are open: makes the lists. 0, or the error of a source whose modes the kernel
 * refuses, and that are therefore not those of the common counter.
 */
int shared_link(struct attar_run *run);

/* The counter that a source uses; NULL: it is not open. */
struct attar_counter *shared_counter(const struct attar_run *run, const struct source *s);

/*
 * Delivers a sample to the source with this number and the others of its list. In the notes it is
 * one event: delivered if one of them takes it.
 */
int shared_deliver(struct attar_run *run, uint32_t number, struct attar_event *ev);

#endif
