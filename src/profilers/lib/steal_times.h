/* SPDX-License-Identifier: MIT */
/*
 * The time that the host of a virtual machine takes from each CPU, by /proc/stat. Begin with {0}.
 */
#ifndef PROFILERS_LIB_STEAL_TIMES_H
#define PROFILERS_LIB_STEAL_TIMES_H

#include <stddef.h>
#include <stdint.h>

struct steal_times {
	uint64_t *began, *now; /* ns, by CPU */
	size_t n;
	uint64_t read_at; /* ns; 0: never */
};

/* Since the first call, ns. It is read ten times a second at most; 0: unknown. */
uint64_t steal_times_of(struct steal_times *times, uint32_t cpu);
void steal_times_done(struct steal_times *times);

#endif
