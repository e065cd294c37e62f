/* SPDX-License-Identifier: MIT */
/* tracefs: mount point, tracepoints, and other kernel information from tracefs and BTF. */
#ifndef TRACEFS_TRACEFS_H
#define TRACEFS_TRACEFS_H

#include "attar/format.h"
#include "base/buf.h"
#include "base/map.h"
#include "tracefs/dir.h"

/* A probe event created in tracefs. */
struct dynamic_event {
	bool user;
	char *name;
};

/* An event of a recording with another name than system:name: uprobe:f@"file", or an alias. */
struct recorded_probe {
	char *name;
	const struct attar_format *format;
};

/* Another name of a recorded tracepoint, see tracefs_set_alias(). */
struct tracefs_alias {
	const char *system, *name, *of;
};

/* All parts are read on first use. */
struct tracefs {
	unsigned process;           /* that created it, see base/check_arg.h */
	char *sysfs, *proc;         /* owned */
	char *path;                 /* where it is mounted; NULL until found; owned */
	bool mount;                 /* mount tracefs if it is not mounted */
	bool recorded;              /* formats are from a recording; no file is read */
	bool seen;                  /* stale probes of other processes were removed */
	struct tracefs_alias alias; /* of a recorded tracepoint; all NULL: none */
	VEC(struct attar_format *) formats;
	VEC(struct recorded_probe) recorded_probes;
	struct map formats_by_name; /* maps hash of "system:name" to index in formats */
	char *dynamic_event_system; /* "attar_NS_PID_START"; NULL until the first event is created */
	uint64_t dynamic_event_time; /* ns, of the first event; part of the names of all */
	VEC(struct dynamic_event) dynamic_events;
	attar_address_fn *resolve; /* resolves kernel functions; NULL: none */
	void *resolve_ctx;
	struct map strings; /* from printk_formats: maps address to offset in strings_text */
	char *strings_text;
	bool strings_read;
	struct map constants; /* the kernel's enumerators: maps hash of name to value */
	bool constants_read;
};

/* Copies sysfs and proc, and path unless it is NULL. Returns 0 or -ENOMEM. */
int tracefs_init(struct tracefs *tracefs, const char *sysfs, const char *proc, const char *path);

/* Removes the probes it created and frees its resources. */
void tracefs_done(struct tracefs *tracefs);

/*
 * Mounts tracefs at /sys/kernel/tracing if it is not mounted anywhere, and logs that it did.
 * Returns 0, also if it was already mounted; -EPERM without permission, -EOPNOTSUPP if the kernel
 * has no tracing support. The error message suggests a fix.
 */
int tracefs_mount(void);

/* Like attar_catalog_tracefs(). */
int tracefs_path(struct tracefs *tracefs, const char **ret_path);

/* Like attar_catalog_format(). */
int tracefs_format(struct tracefs *tracefs, const char *system, const char *name,
	const struct attar_format **ret_format);

/*
 * From now on, has only the formats of a recording: the formats added by tracefs_add_format(), from
 * the text of a format file. `name` is the name of the event in the recording.
 */
void tracefs_set_recorded(struct tracefs *tracefs);
int tracefs_add_format(struct tracefs *tracefs, const char *system, const char *name,
	const char *text, size_t len);

/*
 * The recorded event with another name than that in tracefs, a probe or an event with an alias,
 * with whose name the text begins, and the length of the name, the longest one that fits; NULL:
 * none.
 */
const struct attar_format *tracefs_recorded_probe(
	const struct tracefs *tracefs, const char *text, size_t *ret_len);

/* Adds the name of a recorded event: the name in the recording, or system:name. */
void tracefs_put_name(
	const struct tracefs *tracefs, const struct attar_format *format, struct buf *b);

/*
 * The recorded tracepoint `of` is also found by `name`, but not by patterns and not in lists. The
 * strings are borrowed.
 */
void tracefs_set_alias(
	struct tracefs *tracefs, const char *system, const char *name, const char *of);

/* Copies the text of a recorded printk_formats file. 0 or -ENOMEM. */
int tracefs_set_strings(struct tracefs *tracefs, const char *text, size_t len);

/*
 * Finds the mount point of tracefs (directly, or in debugfs) in `proc`/self/mountinfo. Returns 0
 * and a path that the caller must free; -ENODEV if there is none; or -EACCES if access is denied.
 * The error message suggests a fix.
 */
int tracefs_find(const char *proc, char **ret_path);

/* True if name is a valid directory name in events/, that is, it cannot escape from it. */
bool tracefs_name_ok(const char *name);

/* Fails with the error message for a tracefs file whose open(2) failed with r, a negative errno. */
int tracefs_denied(int r, const char *path);

/*
 * Lists systems, or the tracepoints of a system; sorted. Returns 0 or a negative errno with an
 * error message.
 */
int tracefs_systems(struct tracefs *tracefs, dir_names *ret_names);
int tracefs_events(struct tracefs *tracefs, const char *system, dir_names *ret_names);

/* Fails with "no tracepoint 'system:name'" and a suggestion. */
int tracefs_unknown(struct tracefs *tracefs, const char *system, const char *name);

/* Looks up the value of a kernel constant in the enums of its BTF. */
bool tracefs_constant(struct tracefs *tracefs, const char *name, uint64_t *ret_value);

/* Fills the map from hashes of names to values from a BTF file; adds nothing if it is malformed. */
void btf_constants(const char *bytes, size_t len, struct map *ret_values);

/* Returns the constant string at a kernel address, or NULL if it is unknown. */
const char *tracefs_string(struct tracefs *tracefs, uint64_t address);

#endif
