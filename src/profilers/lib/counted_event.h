/* SPDX-License-Identifier: MIT */
/* Events that a program in the kernel can count in place of a profiler. */
#ifndef PROFILERS_LIB_COUNTED_EVENT_H
#define PROFILERS_LIB_COUNTED_EVENT_H

#include "attar/event.h"
#include "attar/private/counting.h"

/*
 * Whether it is this tracepoint ("sched:sched_switch"), each occurrence of it, and has no
 * attributes but the ones of keys and names, which the caller compares.
 */
bool counted_event_is(const struct attar_event_spec *spec, const char *tracepoint);

/*
 * Whether a program can count each occurrence of a tracepoint by a field: it has no other
 * attributes than the ones above and `attribute` (NULL: none). Sets ret_field, which borrows from
 * spec; its `than` is 0. field: a number at a fixed place, of the tracepoint's format.
 */
bool counted_event_has(const struct attar_event_spec *spec, const char *attribute,
	const struct attar_field *field, struct counting_field *ret_field);

#endif
