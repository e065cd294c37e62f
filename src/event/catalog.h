/* SPDX-License-Identifier: MIT */
/* The state of a catalog; each part is read from the system on first use. */
#ifndef EVENT_CATALOG_H
#define EVENT_CATALOG_H

#include "attar/event.h"
#include "tracefs/tracefs.h"

struct pmu;
struct kernel_types;

struct attar_catalog {
	unsigned process; /* the process that created it, see base/check_arg.h */
	const int *stop; /* borrowed or NULL; if nonzero, pattern expansion fails with -ECANCELED */
	bool inherited;  /* see struct attar_catalog_opts, also for the next two members */
	char *program, *pids;         /* owned; NULL: none */
	bool descendants;             /* USDT probes are also looked up in children of pids */
	bool has_places;              /* all functions of a pattern are places of one event */
	size_t probes_max;            /* functions that a pattern may match; 0: the default */
	const char *const *profilers; /* borrowed; NULL: none */
	const char *btf_file;         /* borrowed; NULL: the types are the running kernel's */
	struct kernel_types *types;   /* NULL: not read yet */
	struct tracefs tracefs;
	VEC(struct pmu *) pmus; /* by name */
	bool pmus_read;
};

#endif
