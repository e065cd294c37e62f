/* SPDX-License-Identifier: MIT */
#ifndef PERF_ATTACH_THREADS_H
#define PERF_ATTACH_THREADS_H

#include "attar/perf.h"

/*
 * Attaches to processes that are creating threads. A thread created after the target's threads were
 * listed has inherited the counters if its creator already had them (the rings then contain its
 * FORK record), and has no counters otherwise. Opens the counters (enabled, with attr.task) on the
 * latter, until no new threads appear. Returns 0 or a negative errno.
 */
int attach_new_threads(struct attar_target *target, struct attar_counter *const *counters,
	size_t n_counters, struct attar_ring **rings, size_t n_rings);

#endif
