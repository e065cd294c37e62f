/* SPDX-License-Identifier: MIT */
/*
 * Two threads that wait in a signal handler with a stack of its own, without frame pointers:
 *	raised:   pause < on_signal < a signal < raise < disturb < raised
 *	overflow: pause < on_signal < a signal < descend < ... < descend < overflow
 * The second has used up its stack, so that its stack pointer is in the guard pages. It prints a
 * line when both are there, and ends with its standard input.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone))

enum { STACK = 128 << 10, GUARD = 64 << 10 };

static atomic_int ready;
static volatile int turns;

static void on_signal(int number)
{
	ready++;
	pause();
	turns = number;
}

static void OWN use_other_stack(const char *name)
{
	const stack_t stack = {.ss_sp = malloc(STACK), .ss_size = STACK};

	prctl(PR_SET_NAME, name);
	if (!stack.ss_sp || sigaltstack(&stack, NULL) < 0)
		exit(1);
}

static void OWN disturb(void)
{
	raise(SIGUSR1);
	turns++;
}

static void *raised(void *arg)
{
	use_other_stack("raised");
	disturb();
	turns++;
	return arg;
}

static int OWN descend(int depth)
{
	volatile char room[6000];

	room[depth % 6000] = (char)depth;
	return depth ? descend(depth - 1) + room[1] : room[0];
}

static void *overflow(void *arg)
{
	use_other_stack("overflow");
	turns = descend(1000);
	return arg;
}

int main(void)
{
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	pthread_attr_t attr;
	pthread_t thread;
	char byte;

	if (sigaction(SIGUSR1, &action, NULL) < 0 || sigaction(SIGSEGV, &action, NULL) < 0)
		return 1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setguardsize(&attr, GUARD);
	if (pthread_create(&thread, &attr, raised, NULL) ||
		pthread_create(&thread, &attr, overflow, NULL))
		return 1;
	while (ready < 2)
		poll(NULL, 0, 1);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	_exit(0);
}
