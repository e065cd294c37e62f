/* SPDX-License-Identifier: MIT */
/*
 * Expected: COUNT processes run one after another, each about 2 ms busy, all in brief_fork() under
 * the comm "storm-fork" (fork), or in brief_exec() under the comm "forkstorm" (exec: fork, then
 * this file again). usage: forkstorm [fork|exec [COUNT]]
 */
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

static KEEP void brief_fork(void)
{
	turns(1500000);
}

static KEEP void brief_exec(void)
{
	turns(1500000);
}

static void child(const char *file, int does_exec)
{
	if (does_exec) {
		execl(file, file, "brief", NULL);
		_exit(127);
	}
	prctl(PR_SET_NAME, "storm-fork");
	brief_fork();
	_exit(0);
}

int main(int argc, char **argv)
{
	int does_exec = argc > 1 && !strcmp(argv[1], "exec"), status;

	if (argc > 1 && !strcmp(argv[1], "brief")) {
		brief_exec();
		return 0;
	}
	for (uint64_t left = argument(argc, argv, 2, 2000); left; left--) {
		pid_t pid = fork();

		if (!pid)
			child(argv[0], does_exec);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return 0;
}
