/* SPDX-License-Identifier: MIT */
/*
 * Expected: allocates 10 objects of 100 bytes with take(), a simple allocator, sleeps for 30 ms,
 * and exits without freeing one.
 */
#include <time.h>

#include "workload.h"

enum { OBJECTS = 10, BYTES = 100, SLEEP_NS = 30000000 };

static char pool[OBJECTS][BYTES];
static int n_taken;

static KEEP void *take(uint64_t size)
{
	return size <= BYTES ? pool[n_taken++] : NULL;
}

static KEEP void give(void *object)
{
	n_taken -= object != NULL;
}

int main(void)
{
	struct timespec left = {.tv_nsec = SLEEP_NS};

	for (int i = 0; i < OBJECTS; i++)
		if (!take(BYTES))
			give(pool[i]);
	while (nanosleep(&left, &left) < 0)
		;
	return 0;
}
