/* SPDX-License-Identifier: MIT */
/*
 * Expected: all user time is in main > stopping > finish, which ends the program. The call of
 * finish() is the last instruction of stopping(): the return address is the start of following(),
 * which never runs. usage: noreturn [CYCLES]; 1000 take 100 to 200 ms
 */
#include "workload.h"

void following(uint64_t n);

static uint64_t cycles;

static KEEP __attribute__((noreturn)) void finish(uint64_t n)
{
	while (n--)
		turns(100000);
	exit(0);
}

static KEEP void stopping(void)
{
	finish(cycles);
}

KEEP void following(uint64_t n)
{
	turns(n);
}

int main(int argc, char **argv)
{
	cycles = argument(argc, argv, 1, 5000);
	stopping();
	following(1);
	return 0;
}
