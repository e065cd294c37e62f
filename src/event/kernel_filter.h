/* SPDX-License-Identifier: MIT */
/* Filters of events in the kernel: their text, and why the kernel refused one. */
#ifndef EVENT_KERNEL_FILTER_H
#define EVENT_KERNEL_FILTER_H

#include "attar/event.h"
#include "attar/perf.h"

/*
 * The text of an event's filter for the kernel, to be freed: `filter` (NULL: none), and for
 * tracepoints without keeps_own also that the event does not happen in this process. *ret_text is
 * NULL if there is neither. place: only this one of a probe with many places; 0: all. Returns 0 or
 * -ENOMEM.
 */
int kernel_filter_text(const struct attar_event_spec *spec, const char *filter, uint32_t place,
	bool keeps_own, char **ret_text);

/* Sets the filter of an event that is only counted. Returns 0 or as attar_counter_filter(). */
int kernel_filter_count(struct attar_counter *counter, const struct attar_event_spec *spec);

/*
 * Sets an error message for the filter, which attar_counter_filter() refused with -EINVAL;
 * spec->filter may be a part of it. Keeps the current text if the event has no fields. Returns
 * -EINVAL or -ENOMEM.
 */
int filter_refused(const struct attar_event_spec *spec, const char *filter);

#endif
