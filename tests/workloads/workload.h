/* SPDX-License-Identifier: MIT */
/*
 * What the workloads share. A workload is a small program whose profile is known before it runs: it
 * does fixed amounts of work, counted in turns of one loop, so that its shares depend on no clock.
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
 * One turn is a multiplication that waits for the one before: 3 to 5 cycles on any machine,
 * whatever the alignment. Inlined, so that the time is its caller's own. 1,000,000 turns are 1 to 2
 * ms.
 */
static inline __attribute__((always_inline)) void turns(uint64_t n)
{
	uint64_t x = n | 1;

	/* Even a leaf keeps a frame when its address is asked for; else its caller is lost from
	 * stacks. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (uint64_t i = 0; i < n; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
}

/* 1 to 8 in no rhythm, so that a sampler of any frequency meets every phase of a cycle. */
static inline uint64_t uneven(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return 1 + (*seed >> 61);
}

/* The nth argument as a number, or what it is by default. */
static inline uint64_t argument(int argc, char **argv, int n, uint64_t otherwise)
{
	return argc > n ? strtoull(argv[n], NULL, 0) : otherwise;
}

#endif
