/* SPDX-License-Identifier: MIT */
/* Probes as events of tracefs. */
#ifndef TRACEFS_DYNAMIC_EVENT_H
#define TRACEFS_DYNAMIC_EVENT_H

#include "tracefs/tracefs.h"

/* A place to probe. Strings are borrowed. */
struct probe {
	bool user;         /* uprobe: in a file */
	bool ret;          /* at the function's return */
	const char *func;  /* NULL: none was named */
	uint64_t offset;   /* bytes from func; else a kernel address, or an offset in the file */
	const char *file;  /* absolute path, of a uprobe */
	const char *fetch; /* " name=FETCH:TYPE ...": what tracefs is to fetch; NULL: nothing */
	uint64_t ref; /* file offset of the counter that the kernel raises while probed; 0: none */
};

/*
 * Makes the probe an event of tracefs, for kernels without a PMU for it (before 4.17). The
 * tracepoint is system:name, strings of the struct tracefs, and is removed with it.
 */
int dynamic_event_create(struct tracefs *tracefs, const struct probe *probe,
	const char **ret_system, const char **ret_name);

/* Removes what this struct tracefs made; and what was made by processes that are no more. */
void dynamic_event_remove_own(struct tracefs *tracefs);
void dynamic_event_remove_stale(struct tracefs *tracefs);

#endif
