/* SPDX-License-Identifier: MIT */
/*
 * Ratios between a count and others of the same run: IPC, GHz, miss rates, rates per second.
 */
#ifndef PROFILERS_LIB_RATIOS_H
#define PROFILERS_LIB_RATIOS_H

#include "attar/event.h"

/* The count of one event. */
struct ratio_count {
	const struct attar_event_spec *spec;
	double value; /* in units of the event: not scaled by spec->scale */
	bool known;
	bool all_code; /* counts both user and kernel code: a clock rate can be computed */
};

/* The ratio of a count to another one, or to the time. */
struct ratio {
	double value;
	const char *of; /* "instructions per cycle", "% of all branches"; NULL: no ratio */
};

/* The most specific ratio for counts[i] of n counts, which were counted for elapsed ns. */
struct ratio ratio_of(const struct ratio_count *counts, size_t n, size_t i, uint64_t elapsed);

#endif
