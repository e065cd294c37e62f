/* SPDX-License-Identifier: MIT */
/*
 * CPUs that go offline and come back. When a CPU goes offline, the kernel removes its events
 * permanently (perf_event_exit_cpu()): they keep their counts, and must be opened again when the
 * CPU returns. The kernel announces both (kobject uevents), also when they follow each other faster
 * than we look.
 */
#ifndef PERF_HOTPLUG_H
#define PERF_HOTPLUG_H

#include "base/buf.h"
#include "base/parse.h"

struct hotplug {
	int fd; /* a socket of uevents; -1: there is none, the lists of online CPUs are compared */
	struct buf online_text; /* its contents as of the last look; empty: unknown */
	parse_ints online; /* ascending, as of the last look */
	VEC(uint32_t) departures; /* of each CPU, by its number: how often it went offline */
	uint32_t changes;
	/* By the last look. A CPU that came back in between has gone offline, and is online. */
	parse_ints went, came;
};

/* Begins to listen. online is taken over. */
void hotplug_init(struct hotplug *h, const parse_ints *online);
void hotplug_done(struct hotplug *h);

/* Looks for changes since the last look. 0, or a negative errno. */
int hotplug_look(struct hotplug *h);

bool hotplug_is_online(const struct hotplug *h, int cpu);
uint32_t hotplug_departures(const struct hotplug *h, int cpu);

/* The CPUs that are online now. */
int hotplug_online(parse_ints *ret_cpus);

#endif
