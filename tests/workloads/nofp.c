/* SPDX-License-Identifier: MIT */
/*
 * Expected, built without frame pointers: 70% of the user time is in main > outer > middle > inner,
 * 30% in main > qsort() of the C library > ... > compare. Each calls work().
 * usage: nofp [CYCLES]; 1000 take 2 to 3 s
 */
#include "workload.h"

enum { NUMBERS = 64, COMPARES = 30 }; /* a sort of 64 numbers compares more often */

static uint64_t unit;
static int left_to_compare;

/* As turns(), which forces a frame pointer. */
static KEEP void work(uint64_t n)
{
	uint64_t x = n | 1;

	for (uint64_t i = 0; i < n; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
}

/* Something is done after each call, so that it is not a jump. */
static KEEP void inner(uint64_t n)
{
	char room[200];

	work(n);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static KEEP void middle(uint64_t n)
{
	char room[1000];

	inner(n);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static KEEP void outer(uint64_t n)
{
	char room[16];

	middle(n);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static KEEP int compare(const void *a, const void *b)
{
	if (left_to_compare-- > 0)
		work(unit);
	return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;

	for (uint64_t left = argument(argc, argv, 1, 1000); left; left--) {
		int numbers[NUMBERS];

		unit = 4000 * uneven(&seed);
		outer(7 * 10 * unit);
		for (int i = 0; i < NUMBERS; i++)
			numbers[i] = i * 37 % NUMBERS;
		left_to_compare = COMPARES;
		qsort(numbers, NUMBERS, sizeof(*numbers), compare);
	}
	return 0;
}
