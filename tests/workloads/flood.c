/* SPDX-License-Identifier: MIT */
/*
 * Expected: exactly COUNT getppid() system calls; prints the nanoseconds that one took. usage:
 * flood [COUNT]
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t count = argument(argc, argv, 1, 1000000);
	double start = now();

	for (uint64_t i = 0; i < count; i++)
		syscall(SYS_getppid);
	printf("%.1f\n", (now() - start) / (count ? count : 1));
	return 0;
}
