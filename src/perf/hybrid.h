/* SPDX-License-Identifier: MIT */
/* Machines with several core types, each with its own PMU. */
#ifndef PERF_HYBRID_H
#define PERF_HYBRID_H

#include "base/base.h"

enum { CORES_KINDS_MAX = 8 };

/*
 * The types (perf_event_attr.type) of core PMUs that do not count on every CPU; none on most
 * machines.
 */
struct cores {
	uint32_t types[CORES_KINDS_MAX];
	size_t n;
};

/*
 * Reads devices (a folder as /sys/bus/event_source/devices) and the list of CPUs that are online.
 */
void hybrid_read(struct cores *cores, const char *devices, const char *online);

/*
 * True when an event of this type and config counts on one kind of cores while there are others:
 * generic events too, unless config names a PMU in its upper half (since 5.13) and that one counts
 * everywhere.
 */
bool hybrid_has(const struct cores *cores, uint32_t type, uint64_t config);

/* The machine's, read once. */
const struct cores *hybrid_get(void);

#endif
