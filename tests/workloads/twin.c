/* SPDX-License-Identifier: MIT */
/*
 * Built twice, as twin_a and twin_b, from one source: equal names in two files. Expected: all time
 * is the self time of twin(); run in parallel with a's cycles three times b's, the twin() of twin_a
 * has 75%.
 */
#include "workload.h"

static KEEP void twin(uint64_t n)
{
	turns(n);
}

int main(int argc, char **argv)
{
	for (uint64_t left = argument(argc, argv, 1, 1600); left; left--)
		twin(300000);
	return 0;
}
