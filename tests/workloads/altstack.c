/* SPDX-License-Identifier: MIT */
/*
 * Expected: all time is the self time of handler(), a signal handler on an alternate stack, which
 * interrupts raise() of the C library, called by main(). usage: altstack [CYCLES]
 */
#include <signal.h>

#include "workload.h"

static uint64_t cycles;

static KEEP void handler(int number)
{
	for (uint64_t left = cycles; left; left--)
		turns(6000000);
}

int main(int argc, char **argv)
{
	static char room[64 << 10];
	const stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
	const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	cycles = argument(argc, argv, 1, 200);
	if (sigaltstack(&stack, NULL) < 0 || sigaction(SIGUSR1, &action, NULL) < 0)
		return 1;
	return raise(SIGUSR1);
}
