/* SPDX-License-Identifier: MIT */
/*
 * Threads whose recorded counts the kernel has mixed up. perf record -s opens each event on each
 * CPU. When two threads with the same counters follow each other on a CPU, the kernel exchanges the
 * counters, and their counts and times (perf_event_sync_stat()): it takes them in the order of its
 * lists, which for the first thread is the order in which perf has opened them (by event, then by
 * CPU), and for the others the order of inheritance (by CPU, then by event). As a result, counts
 * belong to other events and CPUs. The running times reveal this: without an exchange, all software
 * events of a thread have the same running time on a CPU.
 */
#ifndef RUN_COUNTS_MIXED_H
#define RUN_COUNTS_MIXED_H

#include "attar/record.h"
#include "base/map.h"
#include "perfdata/recording.h"

struct mixed_counts {
	struct map running, enabled; /* times of the first event, by thread and place in its ids */
	struct map threads;          /* whose counts are mixed up; a set */
	size_t n_ids;                /* of the first event */
};

void mixed_counts_done(struct mixed_counts *m);

/* Takes the count of a thread, which the caller numbers. 0 or -ENOMEM. */
int mixed_counts_take(struct mixed_counts *m, const struct recording *recording, uint32_t thread,
	const struct attar_read *read);

/* Whether the counts of this thread are mixed up, of all events. */
bool mixed_counts_has(const struct mixed_counts *m, uint32_t thread);

#endif
