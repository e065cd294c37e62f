/* SPDX-License-Identifier: MIT */
/*
 * Expected: NAPPING (300) threads compute for a little while and sleep for MS (100) milliseconds,
 * again and again; IDLE (20) others sleep for an hour; the main thread computes. Writes "ready".
 * Until it is killed. usage: naps [NAPPING [MS [IDLE]]]
 */
#include <pthread.h>
#include <time.h>

#include "workload.h"

static uint64_t ms;

static void *nap(void *unused)
{
	const struct timespec time = {
		.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

	for (;;) {
		turns(10000);
		nanosleep(&time, NULL);
	}
	return unused;
}

static void *idle(void *unused)
{
	nanosleep(&(struct timespec){.tv_sec = 3600}, NULL);
	return unused;
}

int main(int argc, char **argv)
{
	uint64_t napping = argument(argc, argv, 1, 300), n = argument(argc, argv, 3, 20);
	pthread_t thread;

	ms = argument(argc, argv, 2, 100);
	for (uint64_t i = 0; i < napping + n; i++)
		if (pthread_create(&thread, NULL, i < napping ? nap : idle, NULL) != 0)
			return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		turns(1000000);
}
