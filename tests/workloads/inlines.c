/* SPDX-License-Identifier: MIT */
/*
 * Expected: all of the user time is in work(), into which hot() (70 % of it) and cold() (30 %) are
 * inlined.
 * usage: inlines [CYCLES]; 2000 take about 1 s
 */
#include "workload.h"

static inline __attribute__((always_inline)) void hot(uint64_t n)
{
	turns(7 * n); /* the hot line */
}

static inline __attribute__((always_inline)) void cold(uint64_t n)
{
	turns(3 * n); /* the cold line */
}

static KEEP void work(uint64_t n)
{
	hot(n);  /* the hot call */
	cold(n); /* the cold call */
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;

	for (uint64_t left = argument(argc, argv, 1, 2000); left; left--)
		work(8000 * uneven(&seed)); /* the work */
	return 0;
}
