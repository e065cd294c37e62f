/* SPDX-License-Identifier: MIT */
#include "lib/ratios.h"

#include <string.h>

#include "attar/perf.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum { NS_PER_S = 1000000000 };

/* The layout of config for PERF_TYPE_HW_CACHE: cache, operation, result. */
#define CACHE_MISS ((uint64_t)PERF_COUNT_HW_CACHE_RESULT_MISS << 16)
#define CACHE(cache_, op_)                                                                         \
	(PERF_COUNT_HW_CACHE_##cache_ | (uint64_t)PERF_COUNT_HW_CACHE_OP_##op_ << 8)

/* An event, the event that it is divided by, and the unit of the ratio. */
struct relation {
	uint32_t type;
	uint64_t part, whole;
	double factor; /* 100: a percentage */
	const char *of;
};

#define HW PERF_TYPE_HARDWARE
#define HC PERF_TYPE_HW_CACHE

static const struct relation relations[] = {
	{HW, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, 1, "instructions per cycle"},
	{HW, PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100,
		"% of all branches"},
	{HW, PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_CACHE_REFERENCES, 100,
		"% of all cache references"},
	{HW, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, PERF_COUNT_HW_CPU_CYCLES, 100,
		"% of cycles, frontend idle"},
	{HW, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, PERF_COUNT_HW_CPU_CYCLES, 100,
		"% of cycles, backend idle"},
	{HC, CACHE(L1D, READ) | CACHE_MISS, CACHE(L1D, READ), 100, "% of L1 data cache loads"},
	{HC, CACHE(L1D, WRITE) | CACHE_MISS, CACHE(L1D, WRITE), 100, "% of L1 data cache stores"},
	{HC, CACHE(L1I, READ) | CACHE_MISS, CACHE(L1I, READ), 100,
		"% of L1 instruction cache loads"},
	{HC, CACHE(LL, READ) | CACHE_MISS, CACHE(LL, READ), 100, "% of last-level cache loads"},
	{HC, CACHE(LL, WRITE) | CACHE_MISS, CACHE(LL, WRITE), 100, "% of last-level cache stores"},
	{HC, CACHE(DTLB, READ) | CACHE_MISS, CACHE(DTLB, READ), 100, "% of data TLB loads"},
	{HC, CACHE(DTLB, WRITE) | CACHE_MISS, CACHE(DTLB, WRITE), 100, "% of data TLB stores"},
	{HC, CACHE(ITLB, READ) | CACHE_MISS, CACHE(ITLB, READ), 100, "% of instruction TLB loads"},
	{HC, CACHE(BPU, READ) | CACHE_MISS, CACHE(BPU, READ), 100, "% of branch predictions"},
	{HC, CACHE(NODE, READ) | CACHE_MISS, CACHE(NODE, READ), 100, "% of local memory loads"},
};

/* Counted under the same conditions: same PMU and same privilege levels. */
static bool is_alike(const struct attar_event_spec *a, const struct attar_event_spec *b)
{
	bool same_pmu = a->pmu == b->pmu || (a->pmu && b->pmu && !strcmp(a->pmu, b->pmu));

	return same_pmu && a->exclude_user == b->exclude_user &&
	       a->exclude_kernel == b->exclude_kernel && a->exclude_guest == b->exclude_guest &&
	       a->exclude_host == b->exclude_host;
}

static const struct ratio_count *ratios_find(const struct ratio_count *counts, size_t n,
	const struct attar_event_spec *like, uint64_t config)
{
	for (size_t i = 0; i < n; i++)
		if (counts[i].known && counts[i].spec->type == like->type &&
			(uint32_t)counts[i].spec->config == config &&
			is_alike(counts[i].spec, like))
			return &counts[i];
	return NULL;
}

static bool is_clock(const struct attar_event_spec *spec)
{
	const struct perf_event_attr attr = {.type = spec->type, .config = spec->config};

	return attar_attr_is_clock(&attr);
}

/*
 * The counted CPU time in ns; 0: no clock was counted. For one core type of a hybrid CPU (its PMU
 * type is in the upper half of config) the share of that time is unknown, and so is its clock rate.
 */
static double cpu_time(const struct ratio_count *counts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (counts[i].known && is_clock(counts[i].spec))
			return counts[i].value;
	return 0;
}

static struct ratio per_second(const struct ratio_count *c, double cpu_ns, uint64_t elapsed)
{
	if (cpu_ns > 0)
		return (struct ratio){
			c->value * c->spec->scale * NS_PER_S / cpu_ns, "per second of CPU time"};
	if (!elapsed)
		return (struct ratio){0};
	return (struct ratio){c->value * c->spec->scale * NS_PER_S / (double)elapsed, "per second"};
}

struct ratio ratio_of(const struct ratio_count *counts, size_t n, size_t i, uint64_t elapsed)
{
	const struct ratio_count *c = &counts[i], *whole;
	const struct attar_event_spec *spec = c->spec;
	double cpu_ns = cpu_time(counts, n);

	if (!c->known || spec->snapshot)
		return (struct ratio){0};
	if (is_clock(spec))
		return elapsed ? (struct ratio){c->value / (double)elapsed, "CPUs utilized"}
			       : (struct ratio){0};
	for (size_t r = 0; r < ARRAY_SIZE(relations); r++) {
		if (relations[r].type != spec->type || relations[r].part != (uint32_t)spec->config)
			continue;
		whole = ratios_find(counts, n, spec, relations[r].whole);
		if (whole && whole->value > 0)
			return (struct ratio){
				relations[r].factor * c->value / whole->value, relations[r].of};
	}
	if (spec->type == HW && spec->config == PERF_COUNT_HW_CPU_CYCLES && c->all_code &&
		cpu_ns > 0)
		return (struct ratio){c->value / cpu_ns, "GHz"};
	return per_second(c, cpu_ns, elapsed);
}
