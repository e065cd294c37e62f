/* SPDX-License-Identifier: MIT */
/*
 * Sources of events that programs emit: in shared memory and in the kernel (source/user_events.h),
 * or by USDT probes (event/usdt_search.h).
 */
#ifndef SOURCE_PROGRAMS_H
#define SOURCE_PROGRAMS_H

#include "source/source.h"

/*
 * Adds the sources of an event that is received through USDT probes only, which are searched for in
 * the files of programs: 1. 0: the event has another transport, and its source is to be added.
 */
int programs_add_probes(struct source_set *set, const struct attar_event_spec *spec);

/*
 * The newest source is of this event, which programs may register later: requests it. Processes
 * that share no memory with attar may have a probe; finding none is not an error.
 */
int programs_request(struct source_set *set, const struct attar_event_spec *spec);

/* Begins to look for the requested events. */
int programs_open(struct source_set *set);

/* Logs how the events of programs are received. */
void programs_started(struct source_set *set);

/* A source with this number was removed. */
void programs_renumber(struct source_set *set, uint32_t removed);

/* Removes the sources that were discovered. */
void programs_close(struct source_set *set);
void programs_done(struct source_set *set);

#endif
