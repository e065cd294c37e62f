/* SPDX-License-Identifier: MIT */
/*
 * What attar_stream_events() opens: the events of an event string with their counters and filters,
 * and the user events that are discovered later. The stream owns it.
 */
#ifndef STREAM_EVENTS_H
#define STREAM_EVENTS_H

#include "attar/stream.h"

struct stream_events;

/* Called by the stream, which does not know how events were requested. */
struct stream_events_ops {
	/* Closes what was opened. Accepts NULL. The stream must not use its counters any more. */
	void (*free)(struct stream_events *events);

	/* Whether samples with this number must pass take(). */
	bool (*concern)(const struct stream_events *events, uint32_t number);

	/*
	 * Converts a sample of a USDT probe to a sample of its event, and applies the filters that
	 * run in attar. Of several events that share the sample, sets the number of the first that
	 * has it. Returns false if the sample is not to be delivered. Called for each such sample;
	 * allocates nothing.
	 */
	bool (*take)(struct stream_events *events, struct attar_record *record,
		struct attar_event *event);

	/* The same sample, of the next event that has it; false: there is none. */
	bool (*take_again)(struct stream_events *events, struct attar_record *record,
		struct attar_event *ret_event);

	/* The last sample is no longer valid. */
	void (*forget)(struct stream_events *events);

	/* Between rounds: opens events that were registered meanwhile. 0 or a negative errno. */
	int (*look)(struct stream_events *events);
};

#endif
