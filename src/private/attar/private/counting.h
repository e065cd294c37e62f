/* SPDX-License-Identifier: MIT */
/*
 * What can be counted in the kernel, for profilers of attar: see run_count_in_kernel(). Programs in
 * the kernel include it too.
 */
#ifndef ATTAR_PRIVATE_COUNTING_H
#define ATTAR_PRIVATE_COUNTING_H

#include <stdint.h>

struct attar_hist;

/* What is counted, and what a row of it is. */
enum counting_kind {
	COUNTING_READY,    /* times in the run queue: enum counting_start */
	COUNTING_RUNNING,  /* times on a CPU: COUNTING_SWITCH */
	COUNTING_SOFTIRQS, /* times of soft interrupts, by their number */
	COUNTING_SYSCALLS, /* times and errors of system calls, by their number */
	COUNTING_CALLS,    /* numbers of system calls, by their number: the errors of a row */
};

/* What begins a time of a thread. */
enum counting_start { COUNTING_WAKEUP, COUNTING_WAKEUP_NEW, COUNTING_SWITCH };

/*
 * A row that has changed: the times since the last reading, borrowed. Returns 0 or a negative
 * errno.
 */
typedef int counting_row_fn(
	void *ctx, uint64_t row, const struct attar_hist *times, uint64_t errors);

#endif
