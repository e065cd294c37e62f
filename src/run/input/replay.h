/* SPDX-License-Identifier: MIT */
/*
 * --input: the events of a run come from a recording instead of the kernel. The profiler's event
 * names are matched with the events of the recording; options for targets become filters.
 */
#ifndef RUN_INPUT_REPLAY_H
#define RUN_INPUT_REPLAY_H

#include "attar/run.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/vec.h"
#include "perfdata/recording.h"
#include "run/counts/mixed.h"
#include "run/input/range.h"
#include "run/input/recorded_names.h"
#include "run/input/replay_names.h"

struct replay_sources {
	VEC(uint32_t) numbers; /* of the sources that receive the event */
	bool is_plain;         /* one source receives all of its samples */
	uint64_t steps;        /* of all of them, see struct source */
};

/* A source of which the recording only has the samples in some modes (perf/modes.h). */
struct partial_source {
	uint32_t number;
	unsigned modes;
};

struct source;

struct run_replay {
	struct recording *recording;
	VEC(struct replay_sources) events; /* by index of the recording's event */
	VEC(struct partial_source) partial;
	struct map counts;                 /* numbers of counted events, by the same index */
	struct map rows;                   /* of counts by thread: their numbers, by serial */
	struct map exited;                 /* threads that have ended, by serial; with counts */
	struct mixed_counts mixed;         /* by the same rows */
	bool counts_wanted;                /* by attar_run_count(), not samples */
	uint64_t n_reads;                  /* records with counts */
	bool over;                         /* --duration is over */
	parse_ints cpus;                   /* with --cpus: of all events */
	parse_ints pids, tids;             /* of --pids and --tids, without events so far */
	struct recorded_names names;
	struct run_range range;
};

/* The end of the range of --to, ns; UINT64_MAX: the end of the recording. */
static inline uint64_t replay_range_end(const struct run_replay *replay)
{
	return replay && replay->range.is_resolved ? replay->range.to : UINT64_MAX;
}

/* Opens the recording of --input, before the profiler opens. */
int replay_open(struct attar_run *run);
void replay_close(struct attar_run *run);

/* The event for CPU sampling: the first one of the recording that is not a tracepoint. */
int replay_add_sampler(struct attar_run *run, bool stacks, attar_event_fn *fn);

/* Sets the sampling rate of a source from its event of the recording, if that is known. */
void replay_take_rate(const struct attar_run *run, struct source *s);

/* Connects the sources with the events of the recording and creates the stream. */
int replay_start(struct attar_run *run);

/* Delivers an event of the recording to its sources. */
int replay_deliver(struct attar_run *run, struct attar_event *ev);

/* Adds remarks on what of the recording cannot be read. */
void replay_damage_remark(const struct attar_run *run, struct attar_report *report);

/* Adds further remarks about the recording itself. */
void replay_remark(
	const struct attar_run *run, struct attar_report *report, enum attar_scope scope);

#endif
