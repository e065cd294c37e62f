/* SPDX-License-Identifier: MIT */
/*
 * What a count means beside others that were counted together with it: IPC, GHz, miss rates, rates.
 */
#ifndef PROFILERS_RATIOS_H
#define PROFILERS_RATIOS_H

#include "attar/event.h"

/* One event's count, for whatever part of the machine. */
struct ratio_count {
	const struct attar_event_spec *spec;
	double value; /* in units of the event: not scaled by spec->scale */
	bool known;
	bool all_code; /* user and kernel: a clock rate can be told */
};

/* The count in relation to another one or to the time. */
struct ratio {
	double value;
	const char *of; /* "instructions per cycle", "% of all branches"; NULL: nothing more */
};

/* Of counts[i] of n, which were counted for elapsed ns; the most telling one that there is. */
struct ratio ratio_of(const struct ratio_count *counts, size_t n, size_t i, uint64_t elapsed);

#endif
