/* SPDX-License-Identifier: MIT */
/*
 * Expected: nearly all time is under ask(), most of it in the vdso's clock_gettime.
 * usage: vdso [CALLS]
 */
#include <time.h>

#include "workload.h"

static KEEP void ask(void)
{
	struct timespec t;

	for (int i = 0; i < 1000; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
}

int main(int argc, char **argv)
{
	for (uint64_t left = argument(argc, argv, 1, 100000); left; left--)
		ask();
	return 0;
}
