/* SPDX-License-Identifier: MIT */
/* tracefs: where it is mounted, the tracepoints in it, and what else it and BTF tell of the kernel. */
#ifndef TRACEFS_TRACEFS_H
#define TRACEFS_TRACEFS_H

#include "attar/format.h"
#include "base/map.h"
#include "tracefs/dir.h"

/* A probe that was made in tracefs. */
struct dynamic_event {
	bool user;
	char *name;
};

/* Every part is read when it is first asked for. */
struct tracefs {
	unsigned process;   /* that created it, see base/check.h */
	char *sysfs, *proc; /* owned */
	char *path;         /* where it is mounted; NULL until found; owned */
	bool mount;         /* mount it when it is not mounted */
	bool seen;          /* stale probes of other processes were removed */
	VEC(struct attar_format *) formats;
	struct map formats_by_name; /* hash of "system:name" to its index in formats */
	char *dynamic_event_system; /* "attar_NS_PID_START"; NULL until one is made */
	VEC(struct dynamic_event) dynamic_events;
	attar_address_fn *resolve; /* names kernel functions; NULL: none */
	void *resolve_ctx;
	struct map strings; /* of printk_formats: address to offset in strings_text */
	char *strings_text;
	bool strings_read;
	struct map constants; /* of the kernel's enums: hash of the name to the value */
	bool constants_read;
};

/* Copies sysfs and proc, and path unless it is NULL. 0 or -ENOMEM. */
int tracefs_init(struct tracefs *tracefs, const char *sysfs, const char *proc, const char *path);

/* Removes the probes that it made, and frees what it holds. */
void tracefs_done(struct tracefs *tracefs);

/* As attar_tracefs_mount(). */
int tracefs_mount(void);

/* As attar_catalog_tracefs(). */
int tracefs_path(struct tracefs *tracefs, const char **ret_path);

/* As attar_catalog_format(). */
int tracefs_format(struct tracefs *tracefs, const char *system, const char *name,
	const struct attar_format **ret_format);

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
int tracefs_systems(struct tracefs *tracefs, dir_names *ret_names);
int tracefs_events(struct tracefs *tracefs, const char *system, dir_names *ret_names);

/* Fails with "no tracepoint 'system:name'" and what may have been meant. */
int tracefs_unknown(struct tracefs *tracefs, const char *system, const char *name);

/* The value of a constant of the kernel, by the enums of its BTF. */
bool tracefs_constant(struct tracefs *tracefs, const char *name, uint64_t *ret_value);

/* Fills hashes of names and values from the bytes of a BTF file; nothing when it is malformed. */
void btf_constants(const char *bytes, size_t len, struct map *ret_values);

/* The constant string at an address of the kernel, NULL when it is not known. */
const char *tracefs_string(struct tracefs *tracefs, uint64_t address);

#endif
