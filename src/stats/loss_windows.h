/* SPDX-License-Identifier: MIT */
/*
 * Periods in which events may have been lost. Only the latest end of them is kept: once a period
 * was reported, all later events are after its beginning, so that what began before its end
 * overlaps it.
 *
 *	struct windows w = {.one_cpu = false};
 *	windows_add(&w, cpu, to);
 *	if (since < windows_end(&w, cpu))
 *		drop();
 *	windows_done(&w);
 */
#ifndef STATS_LOSS_WINDOWS_H
#define STATS_LOSS_WINDOWS_H

#include "base/vec.h"

struct windows {
	bool one_cpu;       /* periods of a CPU concern only what began on it */
	uint64_t any;       /* end + 1 of the latest period of any CPU; 0: none */
	uint64_t all;       /* the same of periods without a CPU */
	VEC(uint64_t) cpus; /* the same of each CPU, with one_cpu */
};

/* Without memory the period concerns all CPUs. */
void windows_add(struct windows *w, int cpu, uint64_t to);
void windows_done(struct windows *w);

/* What began on this CPU (-1: unknown) before this time is affected; 0: nothing. */
static inline uint64_t windows_end(const struct windows *w, int cpu)
{
	if (!w->any || !w->one_cpu || cpu < 0)
		return w->any;
	return (size_t)cpu < w->cpus.n ? MAX(w->all, w->cpus.at[cpu]) : w->all;
}

#endif
