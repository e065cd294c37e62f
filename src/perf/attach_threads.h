/* SPDX-License-Identifier: MIT */
#ifndef PERF_ATTACH_THREADS_H
#define PERF_ATTACH_THREADS_H

#include "attar/perf.h"

/*
 * Attaching to a process that makes threads: one that came between our listing and our opening has
 * no counter, one whose creator was open already has inherited it. Only the second kind left a FORK
 * record in the rings. Opens the counters (enabled, with attr.task) on the first kind, until none
 * appears.
 */
int attach_new_threads(struct attar_target *target, struct attar_counter *const *counters,
	size_t n_counters, struct attar_ring **rings, size_t n_rings);

#endif
