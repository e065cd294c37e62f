/* SPDX-License-Identifier: MIT */
/* What a catalogue keeps of the system it was made on; every part is filled when first asked for.
 */
#ifndef EVENT_CATALOG_H
#define EVENT_CATALOG_H

#include "attar/event.h"
#include "base/map.h"
#include "base/vec.h"

struct pmu;

/* A probe that was made in tracefs. */
struct dynevent {
	bool user;
	char *name;
};

struct attar_catalog {
	char *sysfs, *proc;
	char *tracefs; /* where it is mounted; NULL until found */
	bool mount;
	bool tracefs_seen; /* what others left in it was removed */
	VEC(struct attar_format *) formats;
	char *dynevent_system; /* "attar_NS_PID_START"; NULL until one is made */
	VEC(struct dynevent) dynevents;
	VEC(struct pmu *) pmus; /* by name */
	bool pmus_read;
	struct map formats_by_name; /* hash of "system:name" to its index in formats */
};

#endif
