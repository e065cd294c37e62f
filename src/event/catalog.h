/* SPDX-License-Identifier: MIT */
/* What a catalogue keeps of the system it was made on; every part is filled when first asked for. */
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
	unsigned process; /* that created it, see base/check.h */
	char *sysfs, *proc;
	char *tracefs; /* where it is mounted; NULL until found */
	bool mount;
	const int *stop;   /* borrowed; not 0: patterns are given up; NULL: never */
	bool tracefs_seen; /* what others left in it was removed */
	VEC(struct attar_format *) formats;
	struct map formats_by_name; /* hash of "system:name" to its index in formats */
	char *dynevent_system;      /* "attar_NS_PID_START"; NULL until one is made */
	VEC(struct dynevent) dynevents;
	VEC(struct pmu *) pmus; /* by name */
	bool pmus_read;
	attar_address_fn *resolve; /* names kernel functions; NULL: nobody does */
	void *resolve_ctx;
	struct map strings; /* of printk_formats: address to offset in strings_text */
	char *strings_text;
	bool strings_read;
	struct map constants; /* of the kernel's enums: hash of the name to the value */
	bool constants_read;
};

#endif
