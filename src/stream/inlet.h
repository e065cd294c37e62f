/* SPDX-License-Identifier: MIT */
/*
 * The second way into a stream: events that programs write to memory which they share with us (see
 * perfume/collector/collector.h), made into samples that look as if the kernel had recorded them.
 * Their rings need no permission of perf, and lose what is overwritten before it was read: that is
 * counted.
 */
#ifndef STREAM_INLET_H
#define STREAM_INLET_H

#include "attar/stream.h"

/* An event in front of an inlet; all of it borrowed until the next call. */
struct inlet_event {
	uint64_t time;
	uint32_t number; /* of the source, as it was introduced */
	pid_t pid, tid;
	const char *comm; /* of the process, when it was found */
	const void *raw;
	uint32_t raw_size;
};

/*
 * The control groups of a target are those whose programs are listened to. Borrowed for the inlet's
 * life.
 */
void inlet_target(struct attar_inlet *inlet, const struct attar_target *target);

/*
 * Looks for programs and events that are new, and sets how far inlet_next() goes: the time of this
 * moment, ret_horizon.
 */
int inlet_begin(struct attar_inlet *inlet, uint64_t *ret_horizon);

/* The next event that is no later than `until`: 1; 0: none; -ENOMEM. */
int inlet_next(struct attar_inlet *inlet, uint64_t until, struct inlet_event *ret_event);

/* How many more were lost since the last call. */
uint64_t inlet_lost(struct attar_inlet *inlet);

/*
 * How long a stream may sleep before the rings are to be looked at again, ms, at most max (-1: no
 * limit).
 */
int inlet_nap_ms(const struct attar_inlet *inlet, int max);

/* Readable when a program has announced itself. */
int inlet_fd(const struct attar_inlet *inlet);

#endif
