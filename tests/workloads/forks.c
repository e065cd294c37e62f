/* SPDX-License-Identifier: MIT */
/*
 * Expected: COUNT processes run one after another and exit at once, without an exec. usage: forks
 * [COUNT]
 */
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

int main(int argc, char **argv)
{
	int status;

	for (uint64_t left = argument(argc, argv, 1, 1000); left; left--) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return 0;
}
