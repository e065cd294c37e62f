/* SPDX-License-Identifier: MIT */
/*
 * For tests of what the running kernel tells: one event with its ring, and a child that is watched.
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

/* An event that never happens, for the records that go with it. */
extern const struct perf_event_attr watch_silent;

/*
 * Opens it, enabled, on the target, which it takes over. Skips where the kernel is older than the
 * option.
 */
void watch_target(struct watch *w, struct attar_target *target, const struct perf_event_attr *attr);

/* The same for this thread. */
void watch_self(struct watch *w, const struct perf_event_attr *attr);
void watch_done(struct watch *w);

/* Whether the record is the one that is looked for. */
typedef bool watch_is(const struct attar_record *r, const void *wanted);

/*
 * How many of the type are in the rings that are it; `is` NULL: all. Disables the event and empties
 * its rings.
 */
size_t watch_count(struct watch *w, uint32_t type, watch_is *is, const void *wanted);

/* A child that does one thing when it is told. */
struct child {
	pid_t pid;
	int go;
};

struct child child_new(void (*act)(void));

/* Tells it, and waits for its end. */
void child_run(struct child *c);

/* Waits for its end, whether it was told or not. */
void child_end(struct child *c);

/* The child alone, on any CPU. */
struct attar_target *child_target(const struct child *c);

/* Sleeps long enough that a slow guest has gone to sleep before it is over. */
void watch_doze(void);

/* Gives this thread another name and its own again: two COMM records. */
void watch_rename(void);

#endif
