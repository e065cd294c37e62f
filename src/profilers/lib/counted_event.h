/* SPDX-License-Identifier: MIT */
/* Events that a program in the kernel can count in place of a profiler. */
#ifndef PROFILERS_LIB_COUNTED_EVENT_H
#define PROFILERS_LIB_COUNTED_EVENT_H

#include "attar/event.h"

/*
 * Whether it is this tracepoint ("sched:sched_switch"), each occurrence of it, and has no
 * attributes but the ones of keys and names, which the caller compares.
 */
bool counted_event_is(const struct attar_event_spec *spec, const char *tracepoint);

#endif
