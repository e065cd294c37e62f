/* SPDX-License-Identifier: MIT */
/*
 * Four threads whose stacks are known, without frame pointers:
 *	main:    pause < rest < main
 *	reader:  read < wait_for_byte < reader
 *	spinner: spin < turn_wheel < spinner
 *	handler: pause < on_signal < a signal < raise < disturb < handler
 * and one that recurses 5,000 times: pause < descend < ... < descend < diver. It prints a line when
 * all of them are there, and ends with its standard input.
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

static atomic_int ready;
static volatile int turns;
static int nothing[2];

static void OWN here(const char *name)
{
	prctl(PR_SET_NAME, name);
	ready++;
}

static int OWN wait_for_byte(void)
{
	char byte;
	ssize_t n = read(nothing[0], &byte, 1);

	return (int)n + turns;
}

static void *reader(void *arg)
{
	here("reader");
	turns = wait_for_byte();
	return arg;
}

static void OWN spin(void)
{
	for (;;)
		turns++;
}

static void OWN turn_wheel(void)
{
	spin();
	turns++;
}

static void *spinner(void *arg)
{
	here("spinner");
	turn_wheel();
	turns++;
	return arg;
}

static void on_signal(int number)
{
	here("handler");
	pause();
	turns = number;
}

static void OWN disturb(void)
{
	raise(SIGUSR1);
	turns++;
}

static void *handler(void *arg)
{
	disturb();
	turns++;
	return arg;
}

static int OWN descend(int depth)
{
	volatile char room[200] = {0};

	if (!depth) {
		here("diver");
		pause();
		return room[0];
	}
	return descend(depth - 1) + room[1];
}

static void *diver(void *arg)
{
	turns = descend(5000);
	return arg;
}

static void *until_end(void *arg)
{
	char byte;

	while (ready < 4)
		poll(NULL, 0, 1);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	_exit(0);
	return arg;
}

static void OWN rest(void)
{
	pause();
	turns++;
}

int main(void)
{
	void *(*const threads[])(void *) = {reader, spinner, handler, diver, until_end};
	pthread_t thread;

	if (pipe(nothing) < 0)
		return 1;
	signal(SIGUSR1, on_signal);
	for (unsigned i = 0; i < sizeof(threads) / sizeof(*threads); i++)
		if (pthread_create(&thread, NULL, threads[i], NULL))
			return 1;
	rest();
	turns++;
	return 0;
}
