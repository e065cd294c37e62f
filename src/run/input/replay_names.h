/* SPDX-License-Identifier: MIT */
/* The events of the recording of a run, by name, and what the recording knows. */
#ifndef RUN_INPUT_REPLAY_NAMES_H
#define RUN_INPUT_REPLAY_NAMES_H

#include "attar/run.h"
#include "base/buf.h"

struct recording_event;
struct run_replay;

/* Parses an event list with the events of the recording, as run_parse_events(). */
int replay_parse_events(
	struct attar_run *run, const char *text, const struct attar_event_list **ret_list);

/* Whether the recording has an event of this name of n bytes. */
bool replay_has_event(const struct attar_run *run, const char *name, size_t n);

/* Whether the recording is damaged, and has tracepoints whose names and fields are unknown. */
bool replay_lacks_formats(const struct attar_run *run);

/* Fails with the damage, for an event that cannot be found because of it. */
int replay_formats_missing(const struct attar_run *run);

/* Whether an event has the samples of a leader, see stream/leader_samples.h. */
bool replay_lacks_fields(const struct attar_run *run, const char *name);

/* Whether the event has what is asked for: samples, or counts. */
bool replay_has_wanted(const struct run_replay *replay, const struct recording_event *event);

/* Adds the event to the error of its expression, and why the event has no fields. Returns r. */
int replay_context(const struct attar_run *run, const char *name, int r);

/* Appends each name once: one that several events have means all of them. */
void replay_add_names(const struct attar_run *run, const char *separator, struct buf *names);

/* Appends the names of all events, separated by commas. -EINVAL: there are none. -ENOMEM. */
int replay_name_events(const struct attar_run *run, struct buf *names);

/* Likewise, for the events that have counts. */
int replay_name_counts(struct attar_run *run, struct buf *names);

/* Whether times can be shown as dates: false for a recording without a date. */
bool replay_has_date(const struct attar_run *run);

/* The time at which the clock of the recording was compared with the date, ns; 1: it was not. */
uint64_t replay_clock(const struct attar_run *run);

/* Whether the event has this name, with or without modifiers. */
bool replay_is_named(const struct recording_event *event, const char *name);

/* The first event that measures time, otherwise the first that is not a tracepoint; or NULL. */
const struct recording_event *replay_find_sampler(const struct attar_run *run);

#endif
