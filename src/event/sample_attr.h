/* SPDX-License-Identifier: MIT */
/* What the samples of an event contain. */
#ifndef EVENT_SAMPLE_ATTR_H
#define EVENT_SAMPLE_ATTR_H

#include "attar/event.h"

/*
 * Adds to attr what is in each sample of the event and in no other: the fields of tracepoints and
 * probes, the data address. Excludes user call chains where the kernel refuses them.
 */
void event_sample_attr(const struct attar_event_spec *spec, struct perf_event_attr *attr);

bool event_is_page_fault(const struct attar_event_spec *spec);

/*
 * Whether a sample for each occurrence makes sense. Clocks and hardware events advance all the
 * time: with a period of 1 they would only produce interrupts.
 */
bool event_is_each(const struct attar_event_spec *spec);

/*
 * Applies period= or freq= of the event to attr, whose sample_type must be complete. Returns false
 * if the event has neither.
 */
bool event_sample_rate(const struct attar_event_spec *spec, struct perf_event_attr *attr);

/* Whether cpus= is the same; either may be NULL. */
bool event_has_same_cpus(const struct attar_event_spec *a, const struct attar_event_spec *b);

#endif
