/* SPDX-License-Identifier: MIT */
/*
 * Events that match a pattern and are refused by the kernel are skipped, with one note per pattern.
 * A refused event that was named exactly, or a pattern none of whose events can be opened, ends the
 * run.
 */
#ifndef EVENT_SKIPPED_EVENTS_H
#define EVENT_SKIPPED_EVENTS_H

#include "attar/event.h"

struct skipped_events {
	const char *pattern;  /* the current pattern, borrowed; NULL: none */
	size_t matched, left; /* number of its events, and of those that were skipped */
	char *why, *names;    /* the message for the first one; further names */
	int error;            /* the negative errno of the first one */
};

/* Whether the event may be skipped after this error. */
bool skipped_events_allows(const struct attar_event_spec *spec, int error);

/*
 * Records the next event, in the order of the text, and the result r of opening it. 0, or the error
 * that ends the run: r itself, or the error of a previous pattern of which nothing could be opened.
 */
int skipped_events_add(struct skipped_events *l, const struct attar_event_spec *spec, int r);

/*
 * Ends the current pattern. 0, or its error if none of its events was opened. Frees what l holds.
 */
int skipped_events_end(struct skipped_events *l);

#endif
