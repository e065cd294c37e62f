/* SPDX-License-Identifier: MIT */
/*
 * The records of a recording as sequences in time order, for the stream to merge.
 *
 * A recording consists of rounds. In each, its writer copied what was in the rings, one after the
 * other. So the records of a round are a few sequences in time order, and a record is at most some
 * rounds late: when a round has been read, everything up to the newest time of an earlier one can
 * be delivered.
 */
#ifndef STREAM_REPLAY_H
#define STREAM_REPLAY_H

#include "base/base.h"
#include "base/vec.h"
#include "recording/recording.h"

/*
 * How many rounds a record may be late. One, by the way in which rounds are made; more were seen on
 * a virtual machine, where a CPU can be stopped between taking the time of a record and writing it.
 */
enum { REPLAY_ROUNDS = 4 };

struct attar_stream;
struct cursor;
struct perf_event_header;

/* A part of the recording, kept until its sequences are read. */
struct replay_part {
	struct recording_part from;
	size_t sequences; /* that are not read to their end */
};

struct replay {
	struct recording *recording; /* borrowed */
	VEC(struct replay_part *) parts;
	bool same_layout;               /* all events have their times at the same offsets */
	bool ended;                     /* no part follows */
	uint64_t newest[REPLAY_ROUNDS]; /* ns: up to each of the last rounds, by round modulo */
	size_t rounds;                  /* that were read */
};

/*
 * Reads a round and appends its sequences to the stream's cursors. Returns 1; 0 if a pipe has no
 * data now, which may be in the middle of a round; or a negative errno.
 */
int replay_read_round(struct attar_stream *s);

/* After a round was read: the time up to which all records have been read. */
uint64_t replay_horizon(struct attar_stream *s);

/* The record after the front of a cursor; NULL at its end. */
const struct perf_event_header *replay_take(struct attar_stream *s, struct cursor *c);

/* The time of a record, ns; 0: it has none. */
uint64_t replay_time(struct attar_stream *s, const struct perf_event_header *header);

/* The index of the event whose layout the record has; NO_COUNTER: unknown. */
uint32_t replay_layout(const struct attar_stream *s, const struct perf_event_header *header);

void replay_free(struct replay *replay);

#endif
