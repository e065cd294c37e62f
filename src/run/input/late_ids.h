/* SPDX-License-Identifier: MIT */
/*
 * The ids of a recording in a pipe. Its header has those that the events had at the start; the
 * events of a CPU that comes online, and of a thread that is attached, get others. perf stops at
 * the first record with an id that it does not know. Records therefore have an id of their event
 * from the header, which replaces the late one in a copy: the kernel does not let rings be changed.
 */
#ifndef RUN_INPUT_LATE_IDS_H
#define RUN_INPUT_LATE_IDS_H

#include <linux/perf_event.h>

#include "base/buf.h"
#include "base/map.h"

struct late_ids {
	struct map first; /* by index of the event: its first id in the header */
	struct map known; /* by id: the id that its records are to have */
	bool any;         /* there are late ids */
};

/* Adds an id of an event, late or not, unless it is known. 0 or -ENOMEM. */
int late_ids_add(struct late_ids *ids, size_t event, uint64_t id, bool is_late);

/* Appends a copy of a record of a ring, with a late id replaced. */
void late_ids_copy(
	const struct late_ids *ids, const struct perf_event_header *header, struct buf *to);

void late_ids_done(struct late_ids *ids);

#endif
