/* SPDX-License-Identifier: MIT */
/*
 * For tests that open events of the running kernel: targets, truths that are known, and reasons to
 * skip.
 */
#ifndef LIVE_H
#define LIVE_H

#include "../unit/unit.h"

#include "attar/perf.h"

/* The calling thread, on any CPU. Skips the test where the kernel lets it watch nothing. */
struct attar_target *live_self(void);

/* Opens a software event of this kind; fails the test when that is refused. */
struct attar_counter *live_software(struct attar_target *target, uint64_t config);

/* Skips the test, for this reason. */
void live_skip(const char *reason);

/* Skips the test unless it runs as root. */
void live_need_root(const char *what);

/* Makes exactly n page faults: touches n pages that were never touched. */
void live_fault(size_t n);

/* Memory of n small pages that were never touched, for live_unmap(). */
char *live_map(size_t n);
void live_unmap(char *area, size_t n);

/* Writes to the pages from number first to before end: a page fault each, the first time. */
void live_touch(char *area, size_t first, size_t end);

/* Reads the ring to its end; how many records of that type it held. */
size_t live_drain(struct attar_ring *ring, uint32_t type);

/* Makes exactly n getppid(2) calls. */
void live_getppid(size_t n);

/* The tracepoints of raw_syscalls as events; skip the test where tracefs cannot be read. */
struct perf_event_attr live_sys_enter(void);
struct perf_event_attr live_sys_exit(void);

/*
 * A filter for it: calls of getppid(2) by this thread alone need no more than the thread's own
 * event.
 */
extern const char live_getppid_filter[];

#endif
