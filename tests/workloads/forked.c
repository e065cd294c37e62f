/* SPDX-License-Identifier: MIT */
/*
 * Expected: all user time is that of a child process that does not execute another program: 70% in
 * child_heavy(), 30% in child_light(). usage: forked [CYCLES]
 */
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

static KEEP void child_heavy(uint64_t n)
{
	turns(7 * n);
}

static KEEP void child_light(uint64_t n)
{
	turns(3 * n);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;
	pid_t child = fork();

	if (child < 0)
		return 1;
	if (child)
		return waitpid(child, NULL, 0) == child ? 0 : 1;
	for (uint64_t left = argument(argc, argv, 1, 1000); left; left--) {
		uint64_t n = 20000 * uneven(&seed);

		child_heavy(n);
		child_light(n);
	}
	_exit(0);
}
