/* SPDX-License-Identifier: MIT */
/* From what read(2) gives to values. */
#ifndef PERF_COUNTER_READ_H
#define PERF_COUNTER_READ_H

#include "perf/counter.h"

/* A sum over instances: the CPUs of one thread are joined before they are added. */
struct counter_read_sum {
	struct attar_value total;
	struct attar_value task; /* the newest thread's */
	pid_t tid;               /* 0: none */
};

/* Takes off what was reset, then judges. v holds what the kernel counted. */
void counter_read_finish(
	const struct attar_counter *c, const struct counter_fd *it, struct attar_value *v);

/*
 * What a thread that has ended had counted in one instance (PERF_RECORD_READ: raw, times, lost): taken
 * out of the counter, and added to sum, which holds what it counted in other instances.
 */
void counter_take_out(struct attar_counter *c, size_t instance, const struct attar_value *told,
	struct attar_value *sum);

#endif
