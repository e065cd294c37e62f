/* SPDX-License-Identifier: MIT */
/* The CPUs that events are counted on: CPUs of their PMU, and CPUs of the attribute cpus=. */
#ifndef RUN_COUNTS_CPUS_H
#define RUN_COUNTS_CPUS_H

#include "run/counts/counts.h"

/*
 * The target of the members c[0..n) of a group: the run's, or one of the CPUs of their PMU, which
 * c[0] owns.
 */
int count_cpus_choose(
	struct attar_run *run, struct counted *c, size_t n, struct attar_target **ret_target);

#endif
