/* SPDX-License-Identifier: MIT */
/* Quality and scaling of the kernel's counts. */
#ifndef PERF_VALUE_H
#define PERF_VALUE_H

#include "attar/perf.h"
#include "base/base.h"

/* raw * enabled / running, rounded; UINT64_MAX on overflow. running is not 0. */
uint64_t value_scale(uint64_t raw, uint64_t enabled, uint64_t running);

/*
 * A smaller relative difference of enabled and running time is clock granularity, not multiplexing:
 * kernels before 4.15 read the two times at different moments.
 */
enum { VALUE_GRAIN = 1 << 14 };

/* The slow path of value_set_quality(). */
void value_set_quality_partly_run(struct attar_value *v);

/* Sets quality and value from raw, the times and elsewhere. */
static inline void value_set_quality(struct attar_value *v)
{
	v->value = v->raw;
	v->quality = v->time_enabled || v->raw ? ATTAR_QUALITY_EXACT : ATTAR_QUALITY_IDLE;
	if (unlikely(v->time_running < v->time_enabled - v->time_enabled / VALUE_GRAIN))
		value_set_quality_partly_run(v);
}

/* Sets the quality to ERROR: the value is unknown. */
void value_error(struct attar_value *v);

#endif
