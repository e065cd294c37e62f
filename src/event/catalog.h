/* SPDX-License-Identifier: MIT */
/* What a catalogue keeps of the system it was made on; every part is filled when first asked for.
 */
#ifndef EVENT_CATALOG_H
#define EVENT_CATALOG_H

#include "attar/event.h"
#include "base/map.h"
#include "base/vec.h"

struct pmu;

struct attar_catalog {
	char *sysfs, *proc;
	char *tracefs; /* where it is mounted; NULL until found */
	bool mount;
	VEC(struct attar_format *) formats;
	VEC(struct pmu *) pmus; /* by name */
	bool pmus_read;
	struct map formats_by_name; /* hash of "system:name" to its index in formats */
};

#endif
