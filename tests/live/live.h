/* SPDX-License-Identifier: MIT */
/*
 * For tests that open events of the running kernel: targets, actions with known counts, and skips.
 */
#ifndef LIVE_H
#define LIVE_H

#include "../unit/unit.h"

#include "attar/perf.h"
#include "attar/stream.h"

/* The calling thread, on any CPU. Skips the test if the kernel refuses to watch it. */
struct attar_target *live_self(void);

/* Opens a software event of this kind; fails the test if that is refused. */
struct attar_counter *live_software(struct attar_target *target, uint64_t config);

/* Skips the test for this reason. */
void live_skip(const char *reason);

/* Skips the test unless it runs as root. */
void live_need_root(const char *what);

/* Skips the test if hardware breakpoints have no effect on this machine. */
void live_need_breakpoints(void);

/* Causes exactly n page faults: touches n new pages. */
void live_fault(size_t n);

/* Maps n small untouched pages, for live_unmap(). */
char *live_map(size_t n);
void live_unmap(char *area, size_t n);

/* Writes to the pages [first, end): a page fault each, the first time. */
void live_touch(char *area, size_t first, size_t end);

/* Reads the ring to its end; returns the number of records of that type. */
size_t live_drain(struct attar_ring *ring, uint32_t type);

/* Makes exactly n getppid(2) calls. */
void live_getppid(size_t n);

/* "system/name" as an event; skips the test if tracefs cannot be read. */
struct perf_event_attr live_tracepoint(const char *name);

/* Those of raw_syscalls. */
struct perf_event_attr live_sys_enter(void);
struct perf_event_attr live_sys_exit(void);

/* A filter for it: the thread's own event is sufficient for getppid(2) calls of this thread. */
extern const char live_getppid_filter[];

/* A stream of one counter, with all that it refers to. */
struct live_stream {
	struct attar_symbols *symbols;
	struct attar_target *target;
	struct attar_counter *counter;
	struct attar_stream *stream;
};

/* Frees them; those that are NULL are left out. */
void live_stream_done(struct live_stream *s);

#endif
