/* SPDX-License-Identifier: MIT */
/* What doctor says of events that the kernel counted and that did not arrive. */
#ifndef DOCTOR_VERDICTS_H
#define DOCTOR_VERDICTS_H

#include <sys/types.h>

#include "doctor/checks.h"

struct verdict_cpu {
	int cpu;
	bool is_missing; /* events were counted that did not arrive */
	bool is_blind;   /* switches from the idle task are not even counted */
	bool is_checked; /* it was idle often enough */
};

void verdict_of_cpus(struct finding *f, const struct verdict_cpu *cpus, size_t n);

/* What was expected of a CPU on which this thread slept, and what arrived. */
struct verdict_slept {
	int cpu;
	uint64_t from, to; /* ns */
	uint64_t sleeps;   /* as the kernel counts them */
	uint64_t out, in, woken;
};

/* The switches from a task. */
struct verdict_leaver {
	pid_t tid;
	uint64_t samples, by_out, by_in; /* records of the task itself, of the one after it */
};

struct verdict_tasks {
	const struct verdict_slept *slept;
	size_t n_slept;
	const struct verdict_leaver *leavers;
	size_t n_leavers;
	uint64_t lost; /* events */
};

void verdict_of_tasks(struct finding *f, const struct verdict_tasks *tasks);

#endif
