/* SPDX-License-Identifier: MIT */
/* Why the kernel refused an event, in words: what was at fault, and the least that mends it. */
#ifndef PERF_EXPLAIN_H
#define PERF_EXPLAIN_H

#include "perf/negotiate.h"

struct refusal {
	int error; /* negative errno */
	const char *event;
	const char *leader;          /* of the group that it was to join; NULL: none */
	const union uapi_attr *attr; /* as it was refused */
	struct place place;
	/*
	 * How many events are opened in how many places each, and the files that are still to be
	 * opened for them.
	 */
	size_t events, places, files_left;
};

/*
 * Sets the error text and returns refusal->error, but -EOPNOTSUPP for every way in which an event
 * can be missing here. Opens and closes scratch copies of the event to find the option at fault.
 */
int explain_refusal(const struct refusal *refusal);

#endif
