/* SPDX-License-Identifier: MIT */
/*
 * --push, and the attribute push= of events: sends the records of a live run to each receiver,
 * while the run also processes them. Each receiver gets a separate recording, in the format of a
 * pipe, that begins with formats, names and mappings; see peer/sender.h.
 *
 * record sends the bytes of its rings; other profilers send the records that were delivered to
 * them.
 */
#ifndef RUN_RECORD_PUSH_H
#define RUN_RECORD_PUSH_H

#include <linux/perf_event.h>

#include "attar/run.h"
#include "base/parse.h"
#include "perfdata/writer.h"

/* Whether events are to be pushed, and whether receivers can connect. */
bool push_is_wanted(const struct attar_run *run);
bool push_is_open(const struct attar_run *run);

/* These send a part of a ring: push_note() for each of its records, then push_bytes(). */
void push_note(struct attar_run *run, const struct perf_event_header *header);
/* Announces an id of an event, unless it is known. */
void push_id(struct attar_run *run, size_t event, uint64_t id);
void push_bytes(struct attar_run *run, const void *bytes, size_t n);
/* Sends the current names and mappings of processes, see renewal_turn(). */
void push_running(struct attar_run *run, const parse_ints *tids);

/* To be called after each round: new connections receive the records of later rounds. */
int push_round(struct attar_run *run);

/* Statistics of the data that attar record has pushed. */
void push_get_recorded(const struct attar_run *run, struct recording_writer_stats *ret_stats);

#endif
