/* SPDX-License-Identifier: MIT */
/*
 * Counted events of a recording: its READ records, which the kernel writes when a thread exits (of
 * perf record -s: for each CPU) and scripts write at any time. The latest count of each thread, or
 * of each CPU if the record names no thread, is the value of an instance.
 */
#ifndef RUN_INPUT_REPLAY_COUNTS_H
#define RUN_INPUT_REPLAY_COUNTS_H

#include "attar/run.h"
#include "base/map.h"

/* What a counted event has in a recording. */
struct recorded_count {
	struct attar_counter *counter; /* without descriptors; its instances have counts */
	struct attar_value *values;    /* the latest of each instance */
	struct map instances;          /* their numbers, by thread or CPU */
	struct map raw, running;       /* the latest of each part, by id and thread or CPU */
};

void recorded_count_done(struct recorded_count *recorded);

/* -EOPNOTSUPP with an error message: the recording has no counts. */
int replay_counts_check(const struct attar_run *run);

/* Connects the counted events with events of the recording. -EINVAL: it has none of them. */
int replay_counts_connect(struct attar_run *run);

/* Takes the counts of a READ record. 0 or -ENOMEM. */
int replay_counts_take(struct attar_run *run, const struct attar_event *ev);

/* Notes the end of a thread, whose counts the recording may lack. 0 or -ENOMEM. */
int replay_counts_exited(struct attar_run *run, const struct attar_event *ev);

/* At the end, if there are no counts: why. If some threads have no counts: how many. */
void replay_counts_remark(const struct attar_run *run, struct attar_report *report);

/* What counts_read() does for counters of the kernel. */
void replay_counts_read(struct attar_run *run);

#endif
