/* SPDX-License-Identifier: MIT */
#ifndef PROFILERS_HEAP_REPORT_H
#define PROFILERS_HEAP_REPORT_H

#include "attar/run.h"
#include "heap/sums.h"

struct heap_state {
	struct live live;
	struct sums sums;
	struct attar_stack_table *stacks;
	uint64_t soon;   /* ns, an option */
	uint64_t sample; /* bytes: the mean distance of samples; 1: each allocation */
	uint64_t processes;
	uint64_t ended;    /* processes that ended, or executed another program, with memory */
	uint64_t bypassed; /* processes with a malloc() of their own */
	uint64_t replaced; /* addresses that were allocated again without a free */
	bool is_running;   /* the processes ran already */
	bool has_lost;
};

/* attar_profiler.report: self begins with struct heap_state. */
int heap_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope);

#endif
