/* SPDX-License-Identifier: MIT */
/*
 * 37 calls of getppid, 5 opens that fail, a child with 3 calls of getppid, a thread that sleeps 10
 * times 3 ms, and time in inner(), by the number of turns.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) void inner(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}

__attribute__((noinline)) void outer(unsigned long n)
{
	inner(n);
	sink++;
}

static void nap(int ms)
{
	struct timespec t = {0, ms * 1000000};
	nanosleep(&t, NULL);
}

static void *thread(void *arg)
{
	prctl(PR_SET_NAME, "be-thread");
	for (int i = 0; i < 10; i++)
		nap(3);
	return arg;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000000;
	pthread_t t;

	for (int i = 0; i < 37; i++)
		syscall(SYS_getppid);
	for (int i = 0; i < 5; i++)
		if (open("/no/such/file", O_RDONLY) >= 0 || errno != ENOENT)
			return 1;
	if (!fork()) {
		prctl(PR_SET_NAME, "be child");
		for (int i = 0; i < 3; i++)
			syscall(SYS_getppid);
		_exit(3);
	}
	wait(NULL);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	outer(n);
	return 0;
}
