/* SPDX-License-Identifier: MIT */
/* What a sample of a profiler that samples CPUs counts: 1, or the events that it stands for. */
#ifndef PROFILERS_SAMPLE_WEIGHT_H
#define PROFILERS_SAMPLE_WEIGHT_H

#include "attar/run.h"

struct sample_weight {
	bool is_period;   /* a sample counts as many events as its period */
	const char *unit; /* the name of a column of weights: "samples" or "events" */
};

/*
 * Of the event that attar_run_sampler() has requested as the first source of the run. To reach the
 * frequency, the kernel varies the period of an event, so that samples stand for different numbers
 * of events. Those of a clock stand for equal times.
 */
struct sample_weight sample_weight_of_run(const struct attar_run *run);

uint64_t sample_weight_get(const struct sample_weight *weight, const struct attar_event *ev);

#endif
