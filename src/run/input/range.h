/* SPDX-License-Identifier: MIT */
/*
 * --from, --to, --at and --for: only a part of a recording is analysed, as if the recording had
 * begun and ended then. Records before it still say which processes, names and mappings exist.
 */
#ifndef RUN_INPUT_RANGE_H
#define RUN_INPUT_RANGE_H

#include "attar/run.h"
#include "attar/stream.h"
#include "base/buf.h"
#include "base/moment.h"
#include "base/vec.h"
#include "perfdata/waits.h"

struct common_opts;
struct run_replay;

/* The loss of some records, which began before the range. */
struct range_loss {
	struct attar_event event;
	struct attar_record record;
};

/* Of the run's replay; times in ns, on the clock of the recording. */
struct run_range {
	bool is_on;                       /* one of the options was given */
	bool is_of_box;                   /* the input is the black box of this machine */
	bool is_resolved;                 /* from and to are set */
	bool is_before;                   /* the event that is delivered is from before the range */
	bool begins_early;                /* before the first sample of the recording */
	bool cuts_start;                  /* samples before the range were left out */
	uint64_t first, last;             /* of the samples of the recording; 0: unknown */
	uint64_t from, to;                /* 0: from the start; UINT64_MAX: up to the end */
	struct attar_stream_stats before; /* losses and so on before the range */
	VEC(struct range_loss) losses;
	VEC(struct attar_thread_wait) waits; /* at the end of the range; chains are borrowed */
	bool has_waits;
};

/*
 * Without --input, the options concern the events that the black box of this machine holds: they
 * become the input. 0 or a negative errno.
 */
int range_open_box(struct attar_run *run);

/* Appends the options as words of a command line. */
void range_words(const struct common_opts *o, struct buf *words);

/* Finds the times of the recording, and of the range. */
int range_open(struct attar_run *run);

/* 1: the event is from before the range, which has not begun; 0: it is not; -EINVAL. */
int range_see(struct attar_run *run, const struct attar_event *ev);

/*
 * Takes from such an event what later ones need. 1: it is to be delivered, as names and mappings
 * are followed from the start of the recording; 0, or -ENOMEM.
 */
int range_pass(struct attar_run *run, struct attar_event *ev);

/*
 * Before the first event that is not from before the range; NULL: there is none. 1: the clock was
 * started, and the range's losses are to be delivered; 0: the first sample starts it.
 */
int range_begin(struct attar_run *run, const struct attar_event *ev);

/*
 * When the recording has been read, and nothing has begun. Fails if all of it is before the range.
 */
int range_finish(struct attar_run *run);

/*
 * What threads waited for at the end of the range, if the recording has it for its own end: of the
 * threads that have waited since before the end of the range. The rest of the recording is read.
 * Returns 0 or -ENOMEM.
 */
int range_read_waits(struct run_replay *replay, const struct recording_waits *at_end);

/* Subtracts what was lost before the range. */
void range_subtract(const struct run_range *range, struct attar_stream_stats *stats);

void range_done(struct run_range *range);

#endif
