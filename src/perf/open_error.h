/* SPDX-License-Identifier: MIT */
/* Why the kernel refused an event, in words: what it refused, and the smallest fix. */
#ifndef PERF_OPEN_ERROR_H
#define PERF_OPEN_ERROR_H

#include "perf/negotiate.h"

struct refusal {
	int error; /* negative errno */
	const char *event;
	const char *leader;          /* of the group that it was to join; NULL: none */
	const union uapi_attr *attr; /* as it was refused */
	struct instance instance;
	/*
	 * How many events are opened in how many instances each, and the files that are still to be
	 * opened for them and after them.
	 */
	size_t events, instances, files_left;
};

/*
 * Sets the error message and returns refusal->error, but -EOPNOTSUPP if the event does not exist on
 * this system. Opens and closes copies of the event to find the option that causes it.
 */
int open_error_refusal(const struct refusal *refusal);

#endif
