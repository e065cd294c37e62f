/* SPDX-License-Identifier: MIT */
/*
 * For tests of records of the running kernel: one event with its ring, and a child that is watched.
 */
#ifndef WATCH_H
#define WATCH_H

#include "live.h"

#include "attar/record.h"

/* One event of this thread (or of a child), and its ring. */
struct watch {
	struct attar_target *target;
	struct attar_counter *c;
	struct attar_ring **rings;
	size_t n;
	struct attar_layout layout;
};

/* An event that never happens, for the records that accompany it. */
extern const struct perf_event_attr watch_silent;

/*
 * Opens it, enabled, on the target, which it takes over. Skips the test if the kernel is older than
 * the option.
 */
void watch_target(struct watch *w, struct attar_target *target, const struct perf_event_attr *attr);

/* The same for this thread. */
void watch_self(struct watch *w, const struct perf_event_attr *attr);
void watch_done(struct watch *w);

/* Whether the record is the expected one. */
typedef bool watch_is(const struct attar_record *r, const void *wanted);

/*
 * Returns the number of records of the type for which `is` holds; NULL: all. Disables the event and
 * empties its rings.
 */
size_t watch_count(struct watch *w, uint32_t type, watch_is *is, const void *wanted);

/* A child that performs one action on request. */
struct child {
	pid_t pid;
	int go;
};

struct child child_new(void (*act)(void));

/* Requests the action, and waits for the child's end. */
void child_run(struct child *c);

/* Waits for the child's end, with or without a request. */
void child_end(struct child *c);

/* Only the child, on any CPU. */
struct attar_target *child_target(const struct child *c);

/* Sleeps long enough for a slow guest to go to sleep before the time is over. */
void watch_doze(void);

/* Renames this thread and restores its name: two COMM records. */
void watch_rename(void);

#endif
