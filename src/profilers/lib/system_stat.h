/* SPDX-License-Identifier: MIT */
/* System-wide statistics of the kernel, from /proc and /sys. */
#ifndef PROFILERS_LIB_SYSTEM_STAT_H
#define PROFILERS_LIB_SYSTEM_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct system_stat {
	bool is_known;
	uint64_t cpu_ticks, steal_ticks; /* of all CPUs */
	uint64_t idle_ticks;             /* also ticks of waits for disks */
	uint64_t irq_ticks;              /* of interrupts, and of the work that follows them */
	uint64_t memory_stall;           /* us in which a task waited for memory; 0: unknown */
	uint64_t oom_kills;              /* also in control groups */
	uint64_t swap_ins, swap_outs;    /* pages */
	uint64_t drops;                  /* packets, because the queue of a CPU was full */
	uint64_t hot;                    /* times a core was throttled because of its heat */
};

/* root: "" for this system, otherwise a folder with its /proc and /sys. */
void system_stat_read(const char *root, struct system_stat *ret_stat);

/*
 * The kernel's clock source, if programs can only read it by a system call, and those that exist:
 * "hpet (of tsc hpet acpi_pm)". False: they read it without one, or it is unknown.
 */
bool system_clock_is_slow(const char *root, char *ret_text, size_t size);

/* Between two readings; 0 if unknown. The shares are 0..1. */
struct system_change {
	double busy;   /* CPUs that were not idle, on average */
	double steal;  /* of the CPU time, used by the host for something else */
	double irqs;   /* CPUs that handled interrupts, on average */
	double stolen; /* the same as steal, but CPUs on average */
	double taken;  /* both */
	double memory; /* of the time, in which a task waited for memory */
	uint64_t oom_kills, swap_ins, swap_outs, drops, hot; /* numbers */
};

struct system_change system_stat_change(
	const struct system_stat *from, const struct system_stat *to, uint64_t elapsed_ns);

#endif
