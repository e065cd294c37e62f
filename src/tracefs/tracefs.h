/* SPDX-License-Identifier: MIT */
/* Where tracefs is, and the names of the tracepoints in it. */
#ifndef TRACEFS_TRACEFS_H
#define TRACEFS_TRACEFS_H

#include "event/catalog.h"
#include "tracefs/dir.h"

/*
 * The mount point of tracefs (itself, or inside debugfs) as `proc`/self/mountinfo tells. 0 with a
 * path that is the caller's to free; -ENODEV when there is none, -EACCES when it may not be
 * entered, with sentences that say what mends it.
 */
int tracefs_find(const char *proc, char **ret_path);

/* True for what may be a directory of events/: never a path out of it. */
bool tracefs_name_ok(const char *name);

/* Fails with the sentence for a file of tracefs that could not be opened with error code r. */
int tracefs_denied(int r, const char *path);

/* Systems, or the tracepoints of one; sorted. 0 or a negative errno with its sentence. */
int tracefs_systems(struct attar_catalog *catalog, dir_names *ret_names);
int tracefs_events(struct attar_catalog *catalog, const char *system, dir_names *ret_names);

/* Fails with "no tracepoint 'system:name'" and what may have been meant. */
int tracefs_unknown(struct attar_catalog *catalog, const char *system, const char *name);

#endif
