/* SPDX-License-Identifier: MIT */
#ifndef PERF_COUNTER_HOTPLUG_H
#define PERF_COUNTER_HOTPLUG_H

#include "perf/ring.h"

/*
 * attar_target_follow_cpus() for counters with rings: a CPU that comes back continues to use the
 * ring that it had; a new CPU gets one. 1: something changed; 0; or a negative errno.
 */
int counter_hotplug_follow(struct attar_target *t, struct attar_counter *const *counters, size_t n,
	struct attar_ring ***rings, size_t *n_rings);

#endif
