/* SPDX-License-Identifier: MIT */
/*
 * Expected: all of the time is in mix(), 80% of it in the line marked with "long", 20% in the line
 * marked with "short".
 * usage: lines8020 [CYCLES]; 2000 take about 1 s
 */
#include "workload.h"

/* A multiplication that depends on the previous one. */
#define TURN()                                                                                     \
	x = x * 6364136223846793005u + 1;                                                          \
	__asm__ volatile("" : "+r"(x))

static KEEP void mix(uint64_t n)
{
	uint64_t x = n | 1;

	/* clang-format off */
	for (uint64_t i = 0; i < 8 * n; i++) { TURN(); } /* long */

	for (uint64_t i = 0; i < 2 * n; i++) { TURN(); } /* short */
	/* clang-format on */
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;

	for (uint64_t left = argument(argc, argv, 1, 2000); left; left--)
		mix(8000 * uneven(&seed));
	return 0;
}
