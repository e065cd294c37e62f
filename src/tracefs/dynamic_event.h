/* SPDX-License-Identifier: MIT */
/* Probe events created through tracefs. */
#ifndef TRACEFS_DYNAMIC_EVENT_H
#define TRACEFS_DYNAMIC_EVENT_H

#include "tracefs/tracefs.h"

/*
 * The field of an event with many places that has the number of the place, from 1. It is not among
 * the fields of its struct attar_format.
 */
#define PROBE_PLACE "__probe_place"

/* A probe location. Strings are borrowed. */
struct probe {
	bool user;         /* uprobe in a file; otherwise a kprobe */
	bool ret;          /* at the function's return */
	bool is_pattern;   /* func is a pattern, see event/probe_pattern.h */
	const char *func;  /* NULL if not given */
	uint64_t offset;   /* bytes from func; else a kernel address, or an offset in the file */
	const char *file;  /* path for messages, of uprobes; NULL: not needed */
	const char *link;  /* "/proc/self/fd/N", see list_file(): the file, of uprobes */
	const char *fetch; /* " name=FETCH:TYPE ...": arguments to fetch; NULL: none */
	uint64_t ref;      /* file offset of the reference counter (semaphore); 0: none */
};

/*
 * Creates a tracefs event for the probe, for kernels without a PMU for it (before 4.17). The
 * tracepoint is system:name; both strings are owned by the struct tracefs. The event is removed
 * when the struct tracefs is released.
 */
int dynamic_event_create(struct tracefs *tracefs, const struct probe *probe,
	const char **ret_system, const char **ret_name);

/*
 * Adds another location to an event from dynamic_event_create(), since Linux 5.4; an older kernel
 * replaces the event. The names and types of what is fetched must be the same.
 */
int dynamic_event_append(struct tracefs *tracefs, const struct probe *probe, const char *name);

/*
 * Of a recording: the event that another process has created for a probe of this function; where it
 * is, is not recorded. The number of such events.
 */
size_t dynamic_event_find_recorded(const struct tracefs *tracefs, const struct probe *probe,
	const struct attar_format **ret_format);

/* The first removes events of this struct tracefs, the second events of exited processes. */
void dynamic_event_remove_own(struct tracefs *tracefs);
void dynamic_event_remove_stale(struct tracefs *tracefs);

#endif
