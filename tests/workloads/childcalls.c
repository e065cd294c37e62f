/* SPDX-License-Identifier: MIT */
/*
 * Expected: N (first argument, 5000) calls of counted_call() in each of M (second argument, 2)
 * forked children and none in the parent.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void counted_call(void);

__attribute__((noinline)) void counted_call(void)
{
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 5000, children = argc > 2 ? atoi(argv[2]) : 2;

	for (int i = 0; i < children; i++) {
		if (fork() == 0) {
			for (int call = 0; call < n; call++)
				counted_call();
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
