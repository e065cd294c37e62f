/* SPDX-License-Identifier: MIT */
/*
 * Expected: 70% of the user time is the self time of heavy(), 30% that of light().
 * usage: split7030 [CYCLES]; 2000 take about 1 s
 */
#include "workload.h"

static KEEP void heavy(uint64_t n)
{
	turns(7 * n);
}

static KEEP void light(uint64_t n)
{
	turns(3 * n);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;

	for (uint64_t left = argument(argc, argv, 1, 2000); left; left--) {
		uint64_t n = 8000 * uneven(&seed);

		heavy(n);
		light(n);
	}
	return 0;
}
