/* SPDX-License-Identifier: MIT */
/* Monitors the run itself: its CPU time (--usage-self), its sampling rate (--sampling-limit). */
#ifndef RUN_OVERHEAD_H
#define RUN_OVERHEAD_H

#include "attar/run.h"
#include "base/parse.h"

struct run_overhead {
	uint64_t usage_due;    /* ns, when CPU usage is logged next; 0: not begun */
	uint64_t usage_began;  /* ns, of the period */
	uint64_t user, system; /* ns of CPU time at its start */
	uint64_t second_began; /* ns, of the second for which samples are counted; 0: not begun */
	uint64_t samples;      /* delivered before it */
	uint64_t evaluated;    /* samples of the CPUs and processes below, so far */
	bool selects;          /* only those are limited */
	parse_ints cpus, pids; /* of --perfeval-cpus and --perfeval-pids; none: all */
};

/* Parses the options. */
int overhead_open(struct attar_run *run);
void overhead_done(struct run_overhead *overhead);

/* Counts a sample, if only some are limited. */
void overhead_count(struct attar_run *run, const struct attar_event *event);

/*
 * Without --sampling-limit, --perfeval-cpus and --perfeval-pids show what it would count: adds a
 * remark to the last report.
 */
void overhead_remark(
	const struct attar_run *run, struct attar_report *report, enum attar_scope scope);

/* To be called at each turn. False: the limit of samples is exceeded, and the run is to end. */
bool overhead_check(struct attar_run *run, uint64_t now);

#endif
