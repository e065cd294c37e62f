/* SPDX-License-Identifier: MIT */
/*
 * Expected: all time is the self time of five(), which is called main > one > two > three > four >
 * five.
 * usage: chain5 [CYCLES]
 */
#include "workload.h"

static KEEP void five(void)
{
	turns(300000);
}

static KEEP void four(void)
{
	five();
	__asm__ volatile("");
}

static KEEP void three(void)
{
	four();
	__asm__ volatile("");
}

static KEEP void two(void)
{
	three();
	__asm__ volatile("");
}

static KEEP void one(void)
{
	two();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	for (uint64_t left = argument(argc, argv, 1, 1600); left; left--)
		one();
	return 0;
}
