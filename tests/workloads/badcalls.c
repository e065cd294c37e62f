/* SPDX-License-Identifier: MIT */
/*
 * Two threads that have called an address without code and wait in the handler of the signal,
 * without frame pointers: pause < on_signal < a signal < the address < call < caller < null or
 * wild. The addresses are 0 and 0x1000. It prints a line when both are there, and ends with its
 * standard input.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone))

static atomic_int ready;
static volatile int turns;

static void on_signal(int number)
{
	ready++;
	pause();
	turns = number;
}

static int OWN call(void (*volatile function)(void))
{
	function();
	return turns + 1;
}

static int OWN caller(uintptr_t address)
{
	volatile char room[200] = {0};

	return call((void (*)(void))address) * 2 + room[1];
}

static void *null(void *arg)
{
	prctl(PR_SET_NAME, "null");
	turns = caller(0);
	return arg;
}

static void *wild(void *arg)
{
	prctl(PR_SET_NAME, "wild");
	turns = caller(0x1000);
	return arg;
}

int main(void)
{
	pthread_t thread;
	char byte;

	signal(SIGSEGV, on_signal);
	if (pthread_create(&thread, NULL, null, NULL) || pthread_create(&thread, NULL, wild, NULL))
		return 1;
	while (ready < 2)
		poll(NULL, 0, 1);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	_exit(0);
}
