/* SPDX-License-Identifier: MIT */
/*
 * Expected: N rounds (argument, 10), each of which sleeps MS milliseconds (argument, 5) on CPU 0
 * and four times as long on CPU 1, in one nanosleep() each, and moves itself twice. So N calls of
 * sched_setaffinity() begin on CPU 0 and end on CPU 1, and N the other way round; each takes the
 * time of a migration. It starts on CPU 0.
 */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

static void move(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		exit(1);
}

static void sleep_ms(long ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10, ms = argc > 2 ? atol(argv[2]) : 5;

	for (long i = 0; i < n; i++) {
		sleep_ms(ms);
		move(1);
		sleep_ms(4 * ms);
		move(0);
	}
	return 0;
}
