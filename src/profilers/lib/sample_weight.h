/* SPDX-License-Identifier: MIT */
/* The weight of a sample: 1, or the number of events that it represents. */
#ifndef PROFILERS_LIB_SAMPLE_WEIGHT_H
#define PROFILERS_LIB_SAMPLE_WEIGHT_H

#include "attar/run.h"

struct sample_weight {
	bool is_period;   /* a sample counts as many events as its period */
	const char *unit; /* the name of a column of weights: "samples" or "events" */
};

/*
 * Of the event that attar_run_sampler() has requested as the first source of the run. To reach the
 * frequency, the kernel varies the period of an event, so that samples stand for different numbers
 * of events. Samples of a clock stand for equal times.
 */
struct sample_weight sample_weight_of_run(const struct attar_run *run);

/* The time on a CPU, in ns, that such a weight of 1 stands for; 0: unknown. */
double sample_weight_cpu_ns(const struct attar_run *run);

/*
 * The events that a sample of a profiler that counts events stands for: `fixed`; 0: the period of
 * the sample. Samples of a clock are counted themselves, unless it is a member of a group of which
 * only the leader has samples.
 */
struct sample_events {
	uint64_t fixed;
	bool is_varied; /* the kernel varies the period to reach a frequency */
};

/* Of a source, once the run has begun: before that, the weights of a recording are not known. */
struct sample_events sample_events_of_source(const struct attar_run *run, uint32_t source);

static inline uint64_t sample_events_get(
	const struct sample_events *events, const struct attar_event *ev)
{
	const uint64_t period = ev->record->sample.period;

	return events->fixed ? events->fixed : period ? period : 1;
}

/*
 * Adds a remark for the sources whose number of events is computed from samples. False: each sample
 * is one event.
 */
bool sample_events_remark(const struct attar_run *run, struct attar_report *report);

/* Adds a remark for each source of which only samples are counted, as if they were all events. */
void sample_events_remark_few(const struct attar_run *run, struct attar_report *report);

uint64_t sample_weight_get(const struct sample_weight *weight, const struct attar_event *ev);

#endif
