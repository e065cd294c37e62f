/* SPDX-License-Identifier: MIT */
/*
 * --input: the events of a run come from a recording instead of the kernel. The profiler's event
 * names are matched with the events of the recording; options for targets become filters.
 */
#ifndef RUN_REPLAY_H
#define RUN_REPLAY_H

#include "attar/run.h"
#include "base/parse.h"
#include "base/vec.h"
#include "recording/recording.h"

struct replay_sources {
	VEC(uint32_t) numbers; /* of the sources that receive the event */
};

struct run_replay {
	struct recording *recording;
	VEC(struct replay_sources) events; /* by index of the recording's event */
	parse_ints pids, tids, cpus;       /* keep only these; none: all */
	bool over;                         /* --duration is over */
};

/* Opens the recording of --input, before the profiler opens. */
int replay_open(struct attar_run *run);
void replay_close(struct attar_run *run);

/* Parses an event list with the events of the recording, as run_parse_events(). */
int replay_parse_events(
	struct attar_run *run, const char *text, const struct attar_event_list **ret_list);

/* The event for CPU sampling: the first one of the recording that is not a tracepoint. */
int replay_add_sampler(struct attar_run *run, attar_event_fn *fn);

/* Connects the sources with the events of the recording and creates the stream. */
int replay_start(struct attar_run *run);

/* Gives an event of the recording to the sources that it belongs to. */
int replay_deliver(struct attar_run *run, struct attar_event *ev);

/* What the report says about the recording itself, such as damage. */
void replay_remark(const struct attar_run *run, struct attar_report *report);

#endif
