/* SPDX-License-Identifier: MIT */
/*
 * paced OUT COUNT RATE: makes COUNT getppid() system calls, RATE per second (0: as fast as
 * possible), on one CPU, and writes its CPU time in seconds to the file OUT.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES_PER_S = 2000 };

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void stay_on_one_cpu(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set)) {
			CPU_ZERO(&set);
			CPU_SET(cpu, &set);
			break;
		}
	sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	uint64_t rate = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	uint64_t batch = rate ? rate / BATCHES_PER_S : count, next;
	FILE *out;

	if (argc < 2 || !batch)
		return 2;
	stay_on_one_cpu();
	next = now(CLOCK_MONOTONIC);
	for (uint64_t done = 0; done < count;) {
		for (uint64_t i = 0; i < batch && done < count; i++, done++)
			syscall(SYS_getppid);
		next += 1000000000 / BATCHES_PER_S;
		while (rate && now(CLOCK_MONOTONIC) < next)
			;
	}
	out = fopen(argv[1], "w");
	if (!out)
		return 1;
	fprintf(out, "%.9f\n", (double)now(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
	return fclose(out) ? 1 : 0;
}
