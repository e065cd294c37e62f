/* SPDX-License-Identifier: MIT */
/*
 * What the watched threads counted by themselves. Their counters include the threads that they
 * start; of one whose end is not reported (its records were lost, it still runs, the kernel does
 * not report it) the count cannot be taken out again. A second counter on the watched threads,
 * which is not inherited, has their own count nevertheless. Hardware counters are too few for that:
 * there the own count is not known then.
 */
#ifndef RUN_STARTERS_H
#define RUN_STARTERS_H

#include "attar/run.h"
#include "base/vec.h"

struct starters {
	struct attar_target *target;          /* the watched threads; NULL: none are told apart */
	VEC(struct attar_counter *) counters; /* for each of the run's counts; NULL: none */
};

/* After the run's counters. What cannot be opened is left out. 0 or -ENOMEM. */
int starters_open(struct attar_run *run);
void starters_close(struct attar_run *run);
int starters_enable(struct attar_run *run);
int starters_disable(struct attar_run *run);

/* What the watched thread counted by itself of counter number i; false: it is not known. */
bool starters_read(struct attar_run *run, size_t i, pid_t tid, struct attar_value *ret_value);

#endif
