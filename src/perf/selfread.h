/* SPDX-License-Identifier: MIT */
/*
 * A thread reads its own counter from the CPU, without a system call. The event's mapped page
 * contains the current hardware counter and the offset to add. Source: the comments in struct
 * perf_event_mmap_page, linux/perf_event.h.
 */
#ifndef PERF_SELFREAD_H
#define PERF_SELFREAD_H

#include "perf/counter.h"

/* CPU instructions. index is the index of the page, minus one. */
struct selfread_cpu {
	uint64_t (*pmc)(uint32_t index);
	uint64_t (*clock)(void);
};

/* Values from a page. */
struct selfread_counts {
	uint64_t raw, time_enabled, time_running;
};

/*
 * Returns true and the current counts. False if they are not available: the event is not on a
 * hardware counter, the CPU or the kernel does not let this thread read it or the time, or the page
 * keeps changing.
 */
bool selfread_page(const struct perf_event_mmap_page *page, const struct selfread_cpu *cpu,
	struct selfread_counts *ret_counts);

/* Sets attributes that request self-reading from the PMU at open. */
void selfread_ask(struct perf_event_attr *attr);

/* Unmaps a counter's page. */
void selfread_done(struct attar_counter *c);

#endif
