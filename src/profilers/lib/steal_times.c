/* SPDX-License-Identifier: MIT */
#include "lib/steal_times.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CPUS_MAX = 8192, PERIOD_NS = 100000000 };

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* "cpu1 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ...", in ticks */
static void read_times(uint64_t *times, size_t n)
{
	uint64_t tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	FILE *file = fopen("/proc/stat", "re");
	unsigned long long steal;
	char line[512];
	unsigned cpu;

	while (file && fgets(line, sizeof(line), file) && line[0] == 'c' && line[1] == 'p')
		if (sscanf(line, "cpu%u %*u %*u %*u %*u %*u %*u %*u %llu", &cpu, &steal) == 2 &&
			cpu < n)
			times[cpu] = steal * tick;
	if (file)
		fclose(file);
}

static void open_times(struct steal_times *times)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	n = n > 0 && n < CPUS_MAX ? n : 0;
	times->began = calloc((size_t)n + 1, sizeof(*times->began));
	times->now = calloc((size_t)n + 1, sizeof(*times->now));
	times->n = times->began && times->now ? (size_t)n : 0;
	read_times(times->began, times->n);
}

uint64_t steal_times_of(struct steal_times *times, uint32_t cpu)
{
	uint64_t time = now_ns();

	if (!times->read_at)
		open_times(times);
	if (!times->read_at || time - times->read_at >= PERIOD_NS) {
		read_times(times->now, times->n);
		times->read_at = time;
	}
	return cpu < times->n ? times->now[cpu] - times->began[cpu] : 0;
}

void steal_times_done(struct steal_times *times)
{
	free(times->began);
	free(times->now);
	*times = (struct steal_times){0};
}
