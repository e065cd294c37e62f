/* SPDX-License-Identifier: MIT */
/*
 * Renews the names and mappings of processes in recordings and at receivers. When records of them
 * were lost, they are read from /proc and written again. The stream detects this: see
 * stream_renew_names() and stream_renew_names_of_cpus().
 *
 *	renewal_begin(run);
 *	...
 *	renewal_follow(run, header);	// each record of a ring, other than samples
 *	renewal_turn(run);		// after each reading of the rings
 */
#ifndef RUN_RENEWAL_H
#define RUN_RENEWAL_H

#include <linux/perf_event.h>

#include "attar/run.h"
#include "base/map.h"
#include "base/parse.h"

struct run_renewal {
	uint64_t given;   /* of the renewals of the stream's process table */
	bool follows;     /* the tasks of a target, not all of the machine */
	struct map tasks; /* tid -> 1: of the target, while they exist, according to records */
};

/* To be called before events are enabled. 0 or a negative errno. */
int renewal_begin(struct attar_run *run);

/* Follows tasks that begin or end. Without memory, names are missing. */
void renewal_follow(struct attar_run *run, const struct perf_event_header *header);

/* Appends the existing tids of the target, whose records can be lost. 0 or -ENOMEM. */
int renewal_list(const struct attar_run *run, parse_ints *list);

/* Renews names if necessary. Returns 1 if they were written, 0, or a negative errno. */
int renewal_turn(struct attar_run *run);

void renewal_done(struct run_renewal *renewal);

#endif
