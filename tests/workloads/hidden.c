/* SPDX-License-Identifier: MIT */
/*
 * Expected: 70% of the time is the self time of hidden_heavy(), 30% that of hidden_light(). The
 * build strips this program, so the names are only in its separate debug file.
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
