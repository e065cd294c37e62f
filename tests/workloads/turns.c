/* SPDX-License-Identifier: MIT */
/*
 * Expected: N (argument, 1000000) iterations of two instructions each, plus a start and an end that
 * are always the same.
 */
#include <stdint.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;

#ifdef __aarch64__
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#else
	__asm__ volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(n) : : "cc");
#endif
	return 0;
}
