/* SPDX-License-Identifier: MIT */
/*
 * --push, and the attribute push= of events: sends the records of a live run to each receiver,
 * while the run also processes them. Each receiver gets a separate recording, in the format of a
 * pipe, that begins with formats, names and mappings; see peer/sender.h.
 *
 * record sends the bytes of its rings; other profilers send the records that were delivered to
 * them.
 */
#ifndef RUN_PUSH_H
#define RUN_PUSH_H

#include <linux/perf_event.h>

#include "attar/run.h"
#include "base/buf.h"
#include "base/parse.h"
#include "recording/writer.h"
#include "run/push_modules.h"
#include "stream/replay.h"

struct peer_sender_stats;
struct sender;
struct source;

struct run_push {
	const char *address;           /* of --push or push=; NULL: nothing is pushed */
	struct sender *sender;         /* NULL: none, or at its end */
	struct buf symbols;            /* the names of the kernel's functions, packed */
	struct buf copy;               /* of a record with a late id */
	struct push_modules modules;   /* that are loaded later */
	bool is_all;                   /* samples of all events, not only of those with push= */
	bool is_open;                  /* records are taken */
	unsigned quiet;                /* rounds without a record */
	uint64_t taken;                /* records of this round */
	uint64_t rounds;               /* that have ended */
	uint64_t may_begin;            /* see may_begin() */
	uint64_t ended[REPLAY_ROUNDS]; /* ns: when, by round modulo */
	struct recording_writer_stats stats; /* of the receiver that has seen most */
	struct peer_sender_stats *sent;      /* owned; NULL before the end */
};

/* Whether the source is pushed, by push= or --push. 0, or -EINVAL with another address. */
int push_add_source(struct attar_run *run, struct source *s);

/* Listens. A run that only pushes waits for the first receiver. Call it before enabling events. */
int push_listen(struct attar_run *run);

/* To be called before the command starts: connected receivers get all records. */
int push_start(struct attar_run *run);

/* To be called before each round: accepts connections, and sends pending data. */
int push_turn(struct attar_run *run);

/* Sends a record of the kernel; ignores NULL, for records that attar itself has made. */
void push_record(struct attar_run *run, const struct perf_event_header *header);

/* These send a part of a ring: push_note() for each of its records, then push_bytes(). */
void push_note(struct attar_run *run, const struct perf_event_header *header);
/* Announces an id of an event, unless it is known. */
void push_id(struct attar_run *run, size_t event, uint64_t id);
void push_bytes(struct attar_run *run, const void *bytes, size_t n);
/* Sends the current names and mappings of processes, see renewal_turn(). */
void push_running(struct attar_run *run, const parse_ints *tids);

/* To be called after each round: new connections receive the records of later rounds. */
int push_round(struct attar_run *run);

/* Ends the data. Waits until the receivers have it, unless they do not read. */
int push_end(struct attar_run *run);

/* Statistics of the data that attar record has pushed. */
void push_get_recorded(const struct attar_run *run, struct recording_writer_stats *ret_stats);

/* Adds remarks about the pushed data. */
void push_remark(const struct attar_run *run, struct attar_report *report);

void push_done(struct attar_run *run);

#endif
