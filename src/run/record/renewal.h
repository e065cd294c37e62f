/* SPDX-License-Identifier: MIT */
/*
 * Renews the names and mappings of processes in recordings and at receivers. When records of them
 * were lost, they are read from /proc and written again. The stream detects this: see
 * stream_renew_names() and stream_renew_names_of_cpus().
 *
 *	renewal_follow(run, header);	// each record of a ring, other than samples
 *	renewal_turn(run);		// after each reading of the rings
 */
#ifndef RUN_RECORD_RENEWAL_H
#define RUN_RECORD_RENEWAL_H

#include <linux/perf_event.h>

#include "attar/run.h"
#include "base/parse.h"

/* Follows tasks that begin or end. Without memory, names are missing. */
void renewal_follow(struct attar_run *run, const struct perf_event_header *header);

/* Appends the existing tids of the target, whose records can be lost. 0 or -ENOMEM. */
int renewal_list(const struct attar_run *run, parse_ints *list);

/* Renews names if necessary. Returns 1 if they were written, 0, or a negative errno. */
int renewal_turn(struct attar_run *run);

#endif
