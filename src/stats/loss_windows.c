/* SPDX-License-Identifier: MIT */
#include "stats/loss_windows.h"

enum { CPUS_MAX = 1 << 16 };

static uint64_t *end_of(struct windows *w, int cpu)
{
	if (!w->one_cpu || cpu < 0 || cpu >= CPUS_MAX)
		return &w->all;
	while (w->cpus.n <= (size_t)cpu)
		if (!vec_add(&w->cpus))
			return &w->all;
	return &w->cpus.at[cpu];
}

void windows_add(struct windows *w, int cpu, uint64_t to)
{
	uint64_t *end = end_of(w, cpu);

	to += to < UINT64_MAX;
	*end = MAX(*end, to);
	w->any = MAX(w->any, to);
}

void windows_done(struct windows *w)
{
	vec_done(&w->cpus);
}
