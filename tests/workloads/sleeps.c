/* SPDX-License-Identifier: MIT */
/*
 * Expected: sleeps COUNT (10) times for MS (20) milliseconds, in nanosleep(), and opens a file that
 * does not exist FAILED (0) times of OPENS (0). usage: sleeps [COUNT [MS [OPENS [FAILED]]]]
 */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

int main(int argc, char **argv)
{
	uint64_t count = argument(argc, argv, 1, 10), ms = argument(argc, argv, 2, 20),
		 opens = argument(argc, argv, 3, 0), failed = argument(argc, argv, 4, 0);
	struct timespec time = {.tv_sec = (time_t)(ms / 1000),
		.tv_nsec = (long)(ms % 1000) * 1000000};

	for (uint64_t i = 0; i < count; i++)
		nanosleep(&time, NULL);
	for (uint64_t i = 0; i < opens; i++)
		close(open(i < failed ? "/nonexistent/file" : "/dev/null", O_RDONLY));
	return 0;
}
