/* SPDX-License-Identifier: MIT */
/* Converts results of read(2) to values. */
#ifndef PERF_COUNTER_READ_H
#define PERF_COUNTER_READ_H

#include "perf/counter.h"

/* A sum over instances: the parts of a thread on its CPUs are joined before they are added. */
struct counter_read_sum {
	struct attar_value total;
	struct attar_value task; /* of the thread being joined */
	pid_t tid;               /* 0: none */
};

/* Subtracts the base from v, which has the kernel's counts, and determines its quality. */
void counter_read_finish(
	const struct attar_counter *c, const struct counter_fd *it, struct attar_value *v);

/* Whether the instance waits for the exec that enables it (attr.enable_on_exec). */
bool counter_waits_for_exec(const struct attar_counter *c, const struct counter_fd *it);

/*
 * Subtracts the counts of an exited thread in one instance (PERF_RECORD_READ: raw, times, lost)
 * from the counter, and adds them to sum, which has its counts in other instances.
 */
void counter_take_out(struct attar_counter *c, size_t instance, const struct attar_value *reported,
	struct attar_value *sum);

#endif
