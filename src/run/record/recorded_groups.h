/* SPDX-License-Identifier: MIT */
/* Stores in a recording in which control groups, containers and pods processes are. */
#ifndef RUN_RECORD_RECORDED_GROUPS_H
#define RUN_RECORD_RECORDED_GROUPS_H

#include <linux/perf_event.h>

#include "attar/run.h"
#include "base/map.h"
#include "base/parse.h"
#include "perfdata/writer.h"

/* What the file has: the numbers of groups by PID, which children inherit. */
struct recorded_groups {
	struct map of;
	parse_ints executed;   /* PIDs in this round */
	uint64_t began, spent; /* ns: the first round, and the time in all of them */
};

/* Of the recorded processes, for a limited time. 0 or a negative errno. */
int recorded_groups_add(struct attar_run *run, struct recording_writer *w);

/* A record that is written, other than a sample. */
void recorded_groups_follow(struct attar_run *run, const struct perf_event_header *header);

/*
 * At the end of a round: processes that are in another group than their parent, when they execute a
 * program. Returns 1 if some were added, 0, or a negative errno.
 */
int recorded_groups_turn(struct attar_run *run, struct recording_writer *w);

#endif
