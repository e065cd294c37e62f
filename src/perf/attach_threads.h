/* SPDX-License-Identifier: MIT */
#ifndef PERF_ATTACH_THREADS_H
#define PERF_ATTACH_THREADS_H

#include "attar/perf.h"

/*
 * Completes counters that were just opened together on the threads of processes, if these create
 * threads meanwhile. Such a thread has inherited the counters if its creator had them at that
 * moment; otherwise they are to be opened on it. Each thread has each counter once afterwards.
 * Returns 0 or a negative errno.
 */
int attach_new_threads(struct attar_target *target, struct attar_counter *const *counters,
	size_t n_counters, unsigned flags);

#endif
