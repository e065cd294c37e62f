/* SPDX-License-Identifier: MIT */
/*
 * A thread reads its own counter out of the CPU, without a system call. The kernel keeps in the
 * event's mapped page what must be added, and which hardware counter it is at the moment. Source:
 * the comments in struct perf_event_mmap_page, linux/perf_event.h.
 */
#ifndef PERF_SELFREAD_H
#define PERF_SELFREAD_H

#include "perf/counter.h"

/* The instructions of the CPU. index is that of the page, minus one. */
struct selfread_cpu {
	uint64_t (*pmc)(uint32_t index);
	uint64_t (*clock)(void);
};

/* What a page told. */
struct selfread_counts {
	uint64_t raw, time_enabled, time_running;
};

/*
 * True with the counts of this moment. False when the page cannot tell them: the event is on no
 * hardware counter, the CPU or the kernel does not let this thread read it or the time, or the page
 * changes for ever.
 */
bool selfread_page(const struct perf_event_mmap_page *page, const struct selfread_cpu *cpu,
	struct selfread_counts *ret_counts);

/*
 * Sets what the PMU must be asked for at opening, so that its counters can be read by the thread
 * itself.
 */
void selfread_ask(struct perf_event_attr *attr);

/* Lets go of a counter's page. */
void selfread_done(struct attar_counter *c);

#endif
