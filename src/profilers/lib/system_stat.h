/* SPDX-License-Identifier: MIT */
/* System-wide statistics of the kernel, from /proc. */
#ifndef PROFILERS_LIB_SYSTEM_STAT_H
#define PROFILERS_LIB_SYSTEM_STAT_H

#include <stdbool.h>
#include <stdint.h>

struct system_stat {
	bool is_known;
	uint64_t cpu_ticks, steal_ticks; /* of all CPUs */
	uint64_t memory_stall;           /* us in which a task waited for memory; 0: unknown */
	uint64_t oom_kills;              /* also in control groups */
};

void system_stat_read(struct system_stat *ret_stat);

/* Between two readings; 0 if unknown. The shares are 0..1. */
struct system_change {
	double steal;  /* of the CPU time, used by the host for something else */
	double memory; /* of the time, in which a task waited for memory */
	uint64_t oom_kills; /* a number */
};

struct system_change system_stat_change(
	const struct system_stat *from, const struct system_stat *to, uint64_t elapsed_ns);

#endif
