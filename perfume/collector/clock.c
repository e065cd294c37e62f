/* SPDX-License-Identifier: CC0-1.0 */
/* The clocks of records: the CPU's counter is converted to CLOCK_MONOTONIC. */
#include "writer.h"

#include <time.h>

#define PAIRS 8
/* A pair that took longer says too little: the thread was preempted each time. */
#define PAIR_NS_MAX 100000
#define UPDATE_NS   100000000

uint64_t perfume_collector_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t ticks_now(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
#else
	return perfume_collector_now();
#endif
}

struct perfume_clock_pair perfume_clock_pair(void)
{
	struct perfume_clock_pair best = {.took = UINT64_MAX};
	int i;

	for (i = 0; i < PAIRS; i++) {
		uint64_t before = ticks_now(), ns = perfume_collector_now();
		uint64_t took = ticks_now() - before;

		if (took < best.took)
			best = (struct perfume_clock_pair){ns, before + took / 2, took};
	}
	return best;
}

/* Recalibrates the counter against the clock, to follow NTP adjustments. */
void perfume_clock_update(struct perfume_collector *c)
{
	struct perfume_clock_pair now;
	uint64_t due = c->ns_per_tick > 0 ? UPDATE_NS : 2000000;

	if (c->clock.ns && perfume_collector_now() - c->clock.ns < due)
		return;
	now = perfume_clock_pair();
	if (c->ns_per_tick > 0 && (double)now.took * c->ns_per_tick > PAIR_NS_MAX)
		return;
	if (c->clock.ns && now.ticks > c->clock.ticks)
		c->ns_per_tick =
			(double)(now.ns - c->clock.ns) / (double)(now.ticks - c->clock.ticks);
	c->clock = now;
}

static uint64_t ticks_to_ns(struct perfume_collector *c, uint64_t ticks)
{
	const double year = 3e16;
	double since;

	/* A rate requires two clock readings with some time in between. */
	while (!(c->ns_per_tick > 0))
		perfume_clock_update(c);
	since = (double)(int64_t)(ticks - c->clock.ticks) * c->ns_per_tick;
	return c->clock.ns + (uint64_t)(int64_t)(since < -year  ? -year
						 : since > year ? year
								: since);
}

uint64_t perfume_clock_ns(struct perfume_collector *c, uint32_t clock, uint64_t time)
{
	const uint64_t second = 1000000000;
	uint64_t now;

	if (clock == AREA_CLOCK_TSC || clock == AREA_CLOCK_COUNTER)
		time = ticks_to_ns(c, time);
	if (time <= c->clock.ns + second)
		return time;
	now = perfume_collector_now();
	return time > now + second ? now : time;
}
