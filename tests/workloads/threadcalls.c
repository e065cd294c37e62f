/* SPDX-License-Identifier: MIT */
/*
 * Expected: COUNT threads run one after another, and each calls getppid(2) CALLS times; the first
 * thread never does. With "stay" one more does so, then prints "ready", and the process waits to be
 * killed. usage: threadcalls [COUNT [CALLS [stay]]]
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workload.h"

static uint64_t calls;

static void *live(void *stays)
{
	for (uint64_t i = 0; i < calls; i++)
		syscall(SYS_getppid);
	if (stays) {
		puts("ready");
		fflush(stdout);
		pause();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t count = argument(argc, argv, 1, 1000);
	pthread_t thread;

	calls = argument(argc, argv, 2, 7);
	for (uint64_t i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, live, NULL) || pthread_join(thread, NULL))
			return 1;
	if (argc > 3 && !pthread_create(&thread, NULL, live, argv[3]))
		pthread_join(thread, NULL);
	return 0;
}
