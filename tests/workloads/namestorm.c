/* SPDX-License-Identifier: MIT */
/*
 * Expected: for each line "N" on stdin, N processes run one after another, each with its own name
 * ("name0", "name1" and so on); after they have exited, the program itself runs for 0.1 s of CPU
 * time, and the line "N done" is written.
 */
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

static void child(unsigned number)
{
	char name[16];

	snprintf(name, sizeof(name), "name%u", number);
	prctl(PR_SET_NAME, name);
	turns(20000);
	_exit(0);
}

int main(void)
{
	unsigned number = 0, n;
	int status;

	while (scanf("%u", &n) == 1) {
		for (unsigned end = number + n; number < end; number++) {
			pid_t pid = fork();

			if (!pid)
				child(number);
			if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
				return 1;
		}
		for (clock_t start = clock(); clock() - start < CLOCKS_PER_SEC / 10;)
			turns(20000);
		printf("%u done\n", n);
		fflush(stdout);
	}
	return 0;
}
