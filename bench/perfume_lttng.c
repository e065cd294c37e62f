/* SPDX-License-Identifier: MIT */
/*
 * perfume_lttng EVENTS: the cost of an LTTng-UST event of 20 bytes for its program, in ns of the
 * thread's CPU time; the best of several measurements. Waits until a session has enabled
 * bench:event.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "perfume_lttng.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 7 };

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double cost_of(unsigned long n)
{
	double start = now_ns();
	unsigned long i;

	for (i = 0; i < n; i++)
		lttng_ust_tracepoint(bench, event, (uint32_t)i, i, i);
	return (now_ns() - start) / (double)n;
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	double best = 1e9, cost;
	int turn, ms = 0;

	while (!lttng_ust_tracepoint_enabled(bench, event) && ms++ < 10000)
		usleep(1000);
	if (!n || ms > 10000)
		return 1;
	for (turn = 0; turn < TURNS; turn++) {
		cost = cost_of(n);
		best = cost < best ? cost : best;
	}
	printf("{\"ours\": %.3f}\n", best);
	return 0;
}
