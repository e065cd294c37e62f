/* SPDX-License-Identifier: MIT */
/*
 * Timers: a source that samples cpu-clock, and leads a group of events that the kernel counts. Each
 * sample has the counts so far on its CPU; the profiler gets those since the previous sample.
 */
#ifndef RUN_SOURCE_TIMER_H
#define RUN_SOURCE_TIMER_H

#include "attar/run.h"
#include "perf/group.h"

struct source;

struct run_timer {
	const struct attar_event_list *list; /* of counted events, borrowed from the run */
	size_t n;                            /* their number */
	struct attar_group *group;           /* live; its leader is the source's counter */
	int *member_of;     /* of a recording: by event, the position in list, or -1 */
	uint64_t *previous; /* n for each CPU below n_cpus */
	size_t n_cpus;
	uint64_t *counts; /* of the newest sample: attar_event.counts */
};

/* Opens the group of a source with a timer; attr belongs to the leader. */
int timer_open(struct attar_run *run, struct source *s, const struct perf_event_attr *attr);

/* Finds the counted events in the recording. */
int timer_connect(struct attar_run *run, struct source *s);

/* Sets ev->counts. 0 or -ENOMEM. */
int timer_take_counts(struct attar_run *run, struct run_timer *timer, struct attar_event *ev);

/* Closes the group, for another run of the command. */
void timer_close(struct run_timer *timer);

void timer_free(struct run_timer *timer);

#endif
