/* SPDX-License-Identifier: MIT */
/* write_events.h - the events of a file of PmuBeginWrite(). */
#ifndef KPERF_WRITE_EVENTS_H
#define KPERF_WRITE_EVENTS_H

#include <linux/perf_event.h>
#include <stddef.h>

#include "pmu.h"

/* An entry of evtList such as "sched:*" stands for several events. */
struct kp_file_event {
	const char *entry; /* owned by kp_file_events.entries */
	struct perf_event_attr attr;
};

struct kp_file_events {
	char **entries; /* copies of evtList */
	unsigned n_entries;
	struct kp_file_event *at;
	size_t n;
	char *tracing; /* the formats of tracepoints; NULL: there are none */
	size_t tracing_size;
};

/* Looks up the events of a task of SAMPLING. SUCCESS, or the code of the failed call. */
int kp_file_events_find(struct kp_file_events *ret, const struct PmuAttr *attr);
void kp_file_events_done(struct kp_file_events *events);

/* The index of the event of a row; -1: it is not one of the file. */
int kp_file_events_index(const struct kp_file_events *events, const struct PmuData *row);

#endif
