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
#include "perfdata/recording.h"
#include "stream/build_ids.h"
#include "stream/leader_samples.h"

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
	size_t sequences;         /* that are not read to their end */
	size_t index;             /* in replay.parts */
	struct replay_part *next; /* of the unused ones */
};

struct replay {
	struct recording *recording; /* borrowed */
	struct build_ids build_ids;
	struct leader_samples leader;
	VEC(struct replay_part *) parts;
	struct replay_part *unused;     /* to be used again */
	bool same_layout;               /* all events have their times at the same offsets */
	bool is_at_end;                 /* no part follows */
	bool skips_recorder;            /* samples of the process that recorded are left out */
	uint64_t newest[REPLAY_ROUNDS]; /* ns: up to each of the last rounds, by round modulo */
	size_t rounds;                  /* that were read; small ones are read together */
	uint64_t ended[2]; /* ns: the newest time of each of the recording's last rounds */
	size_t cursors_room, heap_room; /* of the stream's arrays */
	size_t old_cursors;             /* cursors of earlier rounds */
	uint64_t last_time;             /* ns: of the end of the newest sequence; 0: unknown */
	VEC(uint64_t) last_of_cpu;      /* ns: of the newest record at the end of a sequence */
};

/*
 * Reads a round and appends its sequences to the stream's cursors. Returns 1; 0 if a pipe has no
 * data now, which may be in the middle of a round; or a negative errno.
 */
int replay_read_round(struct attar_stream *s);

/* At the end: takes the events that were missing when it was recorded. */
void replay_settle(struct attar_stream *s);

/* After a round was read: the time up to which all records have been read. */
uint64_t replay_horizon(struct attar_stream *s);

/* The record after the front of a cursor, which is one of the kernel's; NULL at its end. */
const struct perf_event_header *replay_take(struct attar_stream *s, struct cursor *c);

/* The time of a record, ns; 0: it has none. */
uint64_t replay_time(struct attar_stream *s, const struct perf_event_header *header);

/*
 * The index of the event whose layout the record has; NO_COUNTER: unknown. A sample that is longer
 * than its fields is damage of the recording.
 */
uint32_t replay_checked_layout(struct attar_stream *s, const struct perf_event_header *header);

/*
 * Whether the record is one of those at the end that say how many records an event lost in all.
 * Only these have no time.
 */
bool replay_is_final_loss(struct attar_stream *s, const struct perf_event_header *header);

/* Whether the event with this index writes side-band records only. */
bool replay_is_side_band(const struct attar_stream *s, uint32_t index);

void replay_free(struct replay *replay);

#endif
