/* SPDX-License-Identifier: MIT */
/*
 * Expected: the thread named "three" uses three times the CPU time of the thread named "one"; both
 * spend it in spin(). The main thread sleeps. usage: threads2 [CYCLES]
 */
#include <pthread.h>

#include "workload.h"

static uint64_t cycles;

static KEEP void spin(uint64_t n)
{
	turns(n);
}

static void *three(void *unused)
{
	pthread_setname_np(pthread_self(), "three");
	for (uint64_t left = cycles; left; left--)
		spin(3 * 100000);
	return NULL;
}

static void *one(void *unused)
{
	pthread_setname_np(pthread_self(), "one");
	for (uint64_t left = cycles; left; left--)
		spin(100000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	cycles = argument(argc, argv, 1, 1600);
	if (pthread_create(&a, NULL, three, NULL) || pthread_create(&b, NULL, one, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
