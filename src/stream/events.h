/* SPDX-License-Identifier: MIT */
/*
 * What attar_stream_events() opens: the events of a text with their counters and filters, and the
 * user events that are discovered later. The stream owns it.
 */
#ifndef STREAM_EVENTS_H
#define STREAM_EVENTS_H

#include "attar/stream.h"

struct stream_events;

/* Closes what was opened. Accepts NULL. The stream must not use its counters any more. */
void stream_events_free(struct stream_events *events);

/* Whether samples with this number must pass stream_events_take(). */
bool stream_events_concern(const struct stream_events *events, uint32_t number);

/*
 * Converts a sample of a USDT probe to that of its event, and applies the filters that run in
 * attar. Returns false if the sample is not to be delivered. Called for each such sample; allocates
 * nothing.
 */
bool stream_events_take(
	struct stream_events *events, struct attar_record *record, const struct attar_event *event);

/* Between rounds: opens events that were registered since the last call. 0 or a negative errno. */
int stream_events_look(struct stream_events *events);

#endif
