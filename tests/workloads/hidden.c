/* SPDX-License-Identifier: MIT */
/*
 * Truth: 70% of the time is hidden_heavy()'s own, 30% hidden_light()'s. The build strips this
 * program, so the names are only in its separate debug file.
 */
#include "workload.h"

static KEEP void hidden_heavy(uint64_t n)
{
	turns(7 * n);
}

static KEEP void hidden_light(uint64_t n)
{
	turns(3 * n);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;

	for (uint64_t left = argument(argc, argv, 1, 2000); left; left--) {
		uint64_t n = 8000 * uneven(&seed);

		hidden_heavy(n);
		hidden_light(n);
	}
	return 0;
}
