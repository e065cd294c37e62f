/* SPDX-License-Identifier: MIT */
/* Counts as the kernel gives them, and what they are worth. */
#ifndef PERF_VALUE_H
#define PERF_VALUE_H

#include "attar/perf.h"
#include "base/base.h"

/* raw * enabled / running, rounded; UINT64_MAX when it does not fit. running is not 0. */
uint64_t value_scale(uint64_t raw, uint64_t enabled, uint64_t running);

/*
 * Enabled longer than running by less than this part of the time is no sharing but the grain of the clock:
 * kernels before 4.15 took the two times at different moments.
 */
enum { VALUE_GRAIN = 1 << 14 };

/* The rare rest of value_set_quality(). */
void value_set_quality_partly_run(struct attar_value *v);

/* Finds quality and value from raw, the times and elsewhere. */
static inline void value_set_quality(struct attar_value *v)
{
	v->value = v->raw;
	v->quality = v->time_enabled || v->raw ? ATTAR_QUALITY_EXACT : ATTAR_QUALITY_IDLE;
	if (unlikely(v->time_running < v->time_enabled - v->time_enabled / VALUE_GRAIN))
		value_set_quality_partly_run(v);
}

/* A value that is not known for a reason: the event is in error. */
void value_error(struct attar_value *v);

#endif
