/* SPDX-License-Identifier: MIT */
/*
 * Expected: 70% of the user time is that of the static function work() of this file, called by
 * heavy(), 30% that of the one of namesakes_b.c, called by light().
 * usage: namesakes [CYCLES]; 2000 take about 1 s
 */
#include "workload.h"

void light(uint64_t n);

static KEEP void work(uint64_t n)
{
	turns(7 * n);
}

static KEEP void heavy(uint64_t n)
{
	work(n);
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
