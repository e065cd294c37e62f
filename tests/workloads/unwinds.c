/* SPDX-License-Identifier: MIT */
/*
 * Expected, built without frame pointers: each of these functions runs at the end of one chain of
 * callers, which the names say. Then it executes the program, or itself once.
 * usage: unwinds [CYCLES [PROGRAM]]
 *
 *	main > calls_leaf > leaf
 *	main > allocates > in_room
 *	main > recurses (300 times) > at_bottom
 *	main > is_interrupted > __restore_rt > handler > in_handler
 *	main > is_interrupted > __restore_rt > other_handler > on_other_stack
 *	main > realigns > is_aligned
 *	start_thread or its name > thread > in_thread
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "workload.h"

enum { TURNS = 200000, DEPTH = 300, ROOM = 64 << 10 };

/* turns() forces a frame pointer. */
#define WORK(name)                                                                                 \
	static KEEP void name(void)                                                                \
	{                                                                                          \
		uint64_t x = 1;                                                                    \
                                                                                                   \
		for (uint64_t i = 0; i < TURNS; i++) {                                             \
			x = x * 6364136223846793005u + 1442695040888963407u;                       \
			__asm__ volatile("" : "+r"(x));                                            \
		}                                                                                  \
	}

WORK(leaf)
WORK(in_room)
WORK(at_bottom)
WORK(in_handler)
WORK(on_other_stack)
WORK(is_aligned)
WORK(in_thread)

/* So that the call before it is not a jump. */
#define KEEP_FRAME() __asm__ volatile("")

static KEEP void calls_leaf(void)
{
	leaf();
	KEEP_FRAME();
}

static KEEP void allocates(size_t n)
{
	char *room = alloca(n);

	__asm__ volatile("" : : "r"(room) : "memory");
	in_room();
	__asm__ volatile("" : : "r"(room) : "memory");
}

static KEEP void recurses(unsigned depth)
{
	if (depth > 1)
		recurses(depth - 1);
	else
		at_bottom();
	KEEP_FRAME();
}

static KEEP void handler(int number)
{
	in_handler();
	KEEP_FRAME();
}

static KEEP void other_handler(int number)
{
	on_other_stack();
	KEEP_FRAME();
}

static KEEP void is_interrupted(int number)
{
	raise(number);
	KEEP_FRAME();
}

/* The stack is aligned by a copy of the address of the return address. */
static KEEP void realigns(size_t n)
{
	char aligned[64] __attribute__((aligned(64)));
	char *room = alloca(n);

	__asm__ volatile("" : : "r"(room), "r"(aligned) : "memory");
	is_aligned();
	__asm__ volatile("" : : "r"(room), "r"(aligned) : "memory");
}

static KEEP void *thread(void *cycles)
{
	for (uintptr_t left = (uintptr_t)cycles; left; left--)
		in_thread();
	KEEP_FRAME();
	return NULL;
}

int main(int argc, char **argv)
{
	static char room[ROOM];
	const stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
	const struct sigaction action = {.sa_handler = handler};
	const struct sigaction other = {.sa_handler = other_handler, .sa_flags = SA_ONSTACK};
	uint64_t cycles = argument(argc, argv, 1, 100);
	pthread_t one;

	if (sigaltstack(&stack, NULL) < 0 || sigaction(SIGUSR1, &action, NULL) < 0 ||
		sigaction(SIGUSR2, &other, NULL) < 0)
		return 1;
	for (uint64_t left = cycles / 2; left; left--) {
		calls_leaf();
		allocates(100 + left % 1000);
		recurses(DEPTH);
		is_interrupted(SIGUSR1);
		is_interrupted(SIGUSR2);
		realigns(100 + left % 1000);
	}
	if (pthread_create(&one, NULL, thread, (void *)(uintptr_t)(cycles / 2)) != 0)
		return 1;
	pthread_join(one, NULL);
	if (argc > 2 && !*argv[2])
		return 0;
	execl(argc > 2 ? argv[2] : "/proc/self/exe", argv[0], argc > 1 ? argv[1] : "100", "", NULL);
	return 1;
}
