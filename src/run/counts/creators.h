/* SPDX-License-Identifier: MIT */
/*
 * The watched threads' own counts. Their counters include the threads that they create; the count
 * of a thread whose exit is not reported (its records were lost, it is still running, the kernel
 * does not report it) cannot be subtracted. A second counter on the watched threads, which is not
 * inherited, provides their own count in that case. There are too few hardware counters for this:
 * for hardware events the own count is then unknown.
 */
#ifndef RUN_COUNTS_CREATORS_H
#define RUN_COUNTS_CREATORS_H

#include "attar/run.h"

/* To be called after the run's counters are open. Skips what cannot be opened. 0 or -ENOMEM. */
int creator_counts_open(struct attar_run *run);
void creator_counts_close(struct attar_run *run);
int creator_counts_enable(struct attar_run *run);
int creator_counts_disable(struct attar_run *run);

/* The watched thread's own count of counter number i; false: unknown. */
bool creator_counts_read(struct attar_run *run, size_t i, pid_t tid, struct attar_value *ret_value);

#endif
