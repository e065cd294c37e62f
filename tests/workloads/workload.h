/* SPDX-License-Identifier: MIT */
/*
 * Common code of the workloads. A workload is a small program with a known profile: it does fixed
 * amounts of work, counted in iterations of one loop, so its shares do not depend on a clock.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A function that the compiler neither inlines nor clones nor removes: its name is in every
 * profile. */
#ifdef __clang__
#define KEEP __attribute__((noinline, used))
#else
#define KEEP __attribute__((noipa, used))
#endif

/*
 * One iteration is a multiplication that depends on the previous one: 3 to 5 cycles on any machine,
 * whatever the alignment. Inlined, so that the time is that of the caller. 1,000,000 iterations are
 * 1 to 2 ms.
 */
static inline __attribute__((always_inline)) void turns(uint64_t n)
{
	uint64_t x = n | 1;

	/* Forces a frame in leaf functions too; otherwise their caller is missing in stacks. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (uint64_t i = 0; i < n; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
}

/* 1 to 8 in irregular order, so that a sampler of any frequency sees every phase of a cycle. */
static inline uint64_t uneven(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return 1 + (*seed >> 61);
}

/* Returns the nth argument as a number, or its default. */
static inline uint64_t argument(int argc, char **argv, int n, uint64_t otherwise)
{
	return argc > n ? strtoull(argv[n], NULL, 0) : otherwise;
}

#endif
