/* SPDX-License-Identifier: MIT */
/*
 * How much longer it takes to create and to end a task that inherits events: the kernel copies each
 * event to the new task, within the system call of its creator, and removes the copies within the
 * exit, for which the creator may wait.
 */
#ifndef PERF_INHERIT_COST_H
#define PERF_INHERIT_COST_H

#include "perf/counter.h"

struct inherit_cost {
	uint64_t create, exit; /* ns of one task */
};

/*
 * Measures it now, on this machine: a child of this process creates tasks, first without and then
 * with the inherited ones of these counters. Takes some ms. Returns 1; 0 if none is inherited; or a
 * negative errno without an error message.
 */
int inherit_cost_measure(
	struct attar_counter *const *counters, size_t n, struct inherit_cost *ret_cost);

#endif
