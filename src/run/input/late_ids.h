/* SPDX-License-Identifier: MIT */
/*
 * Ids that the header of a recording lacks: perf stops at the first record with one. Records have
 * an id of their event from the header instead, in a copy: the kernel does not let rings be
 * changed. In a pipe, the header has the ids that the events had at the start; the events of a CPU
 * that comes online, and of a thread that is attached, get others. In any recording, samples of a
 * software event may have the id of another program's event (stream_software_event()).
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
	uint64_t foreign; /* of samples with an id that is not known; 0: they keep it */
};

/* Adds an id of an event, late or not, unless it is known. 0 or -ENOMEM. */
int late_ids_add(struct late_ids *ids, size_t event, uint64_t id, bool is_late);

/* Samples with the id of another program's event are this event's, which is known. */
void late_ids_take_foreign(struct late_ids *ids, size_t event);

/* Whether late_ids_copy() replaces an id of another program's event. */
bool late_ids_is_foreign(const struct late_ids *ids, const struct perf_event_header *header);

/*
 * Appends a copy of a record of a ring, with the id of its event. Returns the copy, valid until the
 * next one, or the record if there is no memory.
 */
const struct perf_event_header *late_ids_copy(
	const struct late_ids *ids, const struct perf_event_header *header, struct buf *to);

void late_ids_done(struct late_ids *ids);

#endif
