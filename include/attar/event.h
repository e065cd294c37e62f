/* SPDX-License-Identifier: MIT */
/*
 * attar/event.h - parses event names for perf_event_open(2).
 *
 * A struct attar_catalog looks up event names on this system: PMUs in sysfs, tracepoints in
 * tracefs, and the kernel's generic events. A struct attar_event_list is a parsed event string,
 * with one spec per event to open.
 *
 *	struct attar_catalog *catalog;
 *	struct attar_event_list *events;
 *	attar_catalog_new(NULL, &catalog);
 *	attar_event_list_parse(catalog, "cycles:u,sched:sched_switch", &events);
 *	for (size_t i = 0; i < events->n; i++)
 *		open_it(&events->at[i]);
 *	attar_event_list_free(events);
 *	attar_catalog_free(catalog);
 *
 * Lifetime: free lists before their catalog; formats are valid until the catalog is freed. A
 * catalog and its lists must be used by one thread at a time.
 *
 * Sources: Documentation/ABI/testing/sysfs-bus-event_source-devices-* for PMUs, perf-list(1) for
 * the grammar of event strings, Documentation/trace/events.rst for formats and filters.
 */
#ifndef ATTAR_EVENT_H
#define ATTAR_EVENT_H

#include <linux/perf_event.h>

#include "attar/base.h"
#include "attar/format.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attar_catalog;

struct attar_catalog_opts {
	size_t size;         /* sizeof(struct attar_catalog_opts) */
	const char *sysfs;   /* NULL: "/sys" */
	const char *proc;    /* NULL: "/proc" */
	const char *tracefs; /* NULL: found in /proc/mounts */
	bool mount;          /* mount tracefs on demand, if it is not mounted */
	/*
	 * Borrowed until the catalog is freed. If set to nonzero, by a signal handler or another
	 * thread, expanding tracepoint patterns fails with -ECANCELED. NULL: never canceled.
	 */
	const int *stop;
	/*
	 * The events are for tasks and what they create (perf_event_attr.inherit). Probes are then
	 * events of tracefs: a uprobe of the PMU counts nothing in a task that inherited it (seen
	 * on 6.18), and is used only if tracefs cannot be written; a kprobe of the PMU lets the
	 * task's fork(2) fail with EFAULT (5.10 to 7.2), because the kernel reads the name of the
	 * function from the memory of the task.
	 */
	bool inherited;
	/*
	 * Where usdt:PROVIDER:NAME is looked up: in a program, by path or by name in PATH, and in
	 * the files whose code is mapped in processes ("1,22"). NULL: none. Copied.
	 */
	const char *program;
	const char *pids;
	/*
	 * Names of profilers that may be used as events (PROFILER/COMMAND LINE/), ending with NULL.
	 * Borrowed until the catalog is freed. NULL: none.
	 */
	const char *const *profilers;
};

/*
 * Creates a catalog. Reads nothing yet: each table is read on first use. opts may be NULL. Returns
 * 0; -EINVAL or -E2BIG for opts of an incompatible version; -ENOMEM. Free with
 * attar_catalog_free().
 */
ATTAR_API int attar_catalog_new(
	const struct attar_catalog_opts *opts, struct attar_catalog **ret_catalog);

/*
 * Frees the catalog and removes the probes that it created in tracefs. Returns NULL. catalog may be
 * NULL.
 */
ATTAR_API struct attar_catalog *attar_catalog_free(struct attar_catalog *catalog);

/* ---- tracepoints ---- */

/*
 * Reads the format of a tracepoint of this system; it is owned by the catalog. Returns 0; -ENOENT
 * if there is no such tracepoint (the error message may suggest a similar one), -EACCES if tracefs
 * is not readable, -ENODEV if it is not mounted, -EOPNOTSUPP if the kernel does not support it,
 * -EINVAL for an invalid name, -EBADMSG for a malformed format, -ENOMEM.
 */
ATTAR_API int attar_catalog_format(struct attar_catalog *catalog, const char *system,
	const char *name, const struct attar_format **ret_format);

/* Called for each tracepoint; a nonzero result stops the iteration and is returned. */
typedef int attar_tracepoint_fn(void *ctx, const char *system, const char *name);

/*
 * Calls fn for each tracepoint of this system, sorted by system and name. Returns 0, the nonzero
 * result of fn, or the errors of attar_catalog_tracefs().
 */
ATTAR_API int attar_catalog_tracepoints(
	struct attar_catalog *catalog, attar_tracepoint_fn *fn, void *ctx);

/* ---- PMUs ---- */

/* A PMU: a device in sysfs that has counters. Borrowed from the catalog. */
struct attar_pmu {
	const char *name; /* "cpu", "cpu_atom", "uncore_imc_0" */
	uint32_t type;    /* perf_event_attr.type */
	bool core;        /* counts on CPU cores */
	bool system_wide; /* counts a device, not a task: open with pid -1 on each of cpus */
	size_t n_cpus;
	const int *cpus; /* CPUs its events may be opened on; none: any */
};

/* The i-th PMU, sorted by name; NULL after the last. */
ATTAR_API const struct attar_pmu *attar_catalog_pmu(struct attar_catalog *catalog, size_t i);

/*
 * Reads a number from the PMU's caps directory ("max_precise", "branches"). Returns 0; -ENOENT if
 * the PMU does not have this capability; -EINVAL.
 */
ATTAR_API int attar_pmu_cap(const struct attar_pmu *pmu, const char *name, int64_t *ret_value);

/* A named event of a PMU in sysfs. Strings are borrowed until the callback returns. */
struct attar_pmu_event {
	const char *name;  /* used as pmu/name/ */
	const char *terms; /* "event=0x3c,umask=?": the user supplies each "?" */
	const char *unit;  /* "" for plain counts */
	double scale;
};

/* Called for each event; a nonzero result stops the iteration and is returned to the caller. */
typedef int attar_pmu_event_fn(void *ctx, const struct attar_pmu_event *event);

/*
 * Calls fn for each event of a PMU, sorted by name. Returns 0, the nonzero result of fn, or a
 * negative errno.
 */
ATTAR_API int attar_pmu_events(const struct attar_pmu *pmu, attar_pmu_event_fn *fn, void *ctx);

/* ---- events by name ---- */

enum attar_event_kind {
	ATTAR_EVENT_HARDWARE,   /* generic: cycles, instructions */
	ATTAR_EVENT_CACHE,      /* generic: L1-dcache-load-misses */
	ATTAR_EVENT_SOFTWARE,   /* counted by the kernel: page-faults */
	ATTAR_EVENT_RAW,        /* r1a8, 4:0x1a8, libpfm4 names */
	ATTAR_EVENT_PMU,        /* pmu/term=1/, pmu/event/ */
	ATTAR_EVENT_TRACEPOINT, /* sched:sched_switch */
	ATTAR_EVENT_PROBE,      /* kprobe:, kretprobe:, uprobe:, uretprobe:, usdt: */
	ATTAR_EVENT_BREAKPOINT, /* mem:0x1000/8:rw */
	ATTAR_EVENT_USER,       /* user_events:tick of a program, not registered in the kernel */
	ATTAR_EVENT_PROFILER,   /* the events of another profiler: profile/-F 500 -g/ */
};

/* How events emitted by programs are received. */
enum attar_transport {
	ATTAR_TRANSPORT_NONE,   /* not an event of a program, or any transport */
	ATTAR_TRANSPORT_KERNEL, /* a tracepoint of the kernel's user_events */
	ATTAR_TRANSPORT_SHM,    /* ring buffers in memory shared with programs */
	ATTAR_TRANSPORT_USDT,   /* a uprobe on the event's USDT probe */
};

/* An attribute of an event: "stack", "alias=x", "key=pid". docs/events.md lists all. */
struct attar_event_option {
	const char *name;
	const char *value;     /* without quotes around it; NULL if there is no '=' */
	unsigned column;       /* of the name in the event string, from 1 */
	unsigned value_column; /* of the first character of value; 0 if there is no '=' */
};

/*
 * One event to open. All pointers are borrowed from the list. Values for perf_event_attr are plain
 * members here, so that this struct does not depend on the kernel headers the program was built
 * with.
 */
struct attar_event_spec {
	const char *name;    /* for display: as written, or as expanded from a pattern */
	const char *pattern; /* that name was expanded from; NULL: not a pattern */
	enum attar_event_kind kind;
	uint32_t type; /* perf_event_attr.type; likewise the next members */
	uint32_t bp_type;
	uint64_t config, config1, config2, config3, config4;
	/* Modifiers. Nothing is excluded unless a modifier says so. */
	bool exclude_user, exclude_kernel, exclude_hv, exclude_host, exclude_guest, exclude_idle;
	bool pinned;        /* D */
	bool exclusive;     /* e */
	bool sample_read;   /* S: samples of the leader include the values of the group */
	bool weak_group;    /* W: open events separately if the group does not fit */
	uint8_t precise_ip; /* p: 0..3 */
	bool precise_max; /* P: highest precision of the PMU; precise_ip is its caps/max_precise */
	/* Sampling period or frequency (Hz) of the event; 0: not set. At most one is set. */
	uint64_t period, freq;
	/* CPUs the event may be opened on; none: any. */
	size_t n_cpus;
	const int *cpus;
	bool system_wide; /* counts a device, not a task: open with pid -1 on each of cpus */
	/* How to display its count. */
	const char *unit; /* "Joules", "msec"; "" for plain counts */
	double scale;     /* displayed value = count * scale */
	bool per_package; /* one value per package, the same on each of its CPUs */
	bool snapshot;    /* a current level, not a running total: differences are meaningless */
	/* Origin in the event string. */
	unsigned item; /* index of the event in the string, from 0; the same for all of a pattern */
	unsigned column; /* position in the string, from 1 */
	int group;       /* group number; members of a group are consecutive; -1: no group */
	const char *pmu; /* name of its PMU; NULL: the kernel chooses */
	const struct attar_format *format; /* for tracepoints and probes; otherwise NULL */
	/*
	 * The transport of user_events:NAME/transport=kernel|shm|usdt/. For a tracepoint: KERNEL.
	 * For ATTAR_EVENT_USER: the requested one; type and config are the values of a dummy event
	 * that never occurs.
	 */
	enum attar_transport transport;
	const char *user_event; /* NAME or pattern to look up in programs too; NULL: none */
	const char *filter;     /* sys:name/filter/, not interpreted here; NULL: none */
	unsigned filter_column; /* of its first character in the string; 0: there is no filter */
	/*
	 * All attributes in the order of the string, also those that the next members repeat. Names
	 * are known and values have the right form; expressions and fields are not interpreted
	 * here.
	 */
	size_t n_options;
	const struct attar_event_option *options;
	const char *alias;  /* alias=: name is equal to it; NULL: none */
	bool stack;         /* stack or max-stack=: samples are to have a call chain */
	uint16_t max_stack; /* max-stack=: perf_event_attr.sample_max_stack; 0: not set */
	bool untraced;      /* only accompanies other events */
	size_t n_only_cpus; /* cpus=: open it only on these CPUs of the target; 0: on all */
	const int *only_cpus;
	/* For ATTAR_EVENT_PROFILER; type and config are the values of a dummy event. */
	const char *profiler; /* its name; NULL: another kind */
	size_t n_arguments;
	const char *const *arguments; /* of its command line, without the name; ends with NULL */
	const char *text;             /* the whole event string */
	/*
	 * One of several functions that are probed by one event, whose samples have the number of
	 * the function, from 1; 0: none. Only in streams of attar_stream_events() and in runs.
	 */
	uint32_t place;
};

/* An event that is known by a single word. Strings are borrowed until the callback returns. */
struct attar_named_event {
	enum attar_event_kind kind; /* HARDWARE, CACHE, RAW (libpfm4) or SOFTWARE */
	const char *name;
	const char *alias; /* its other name; NULL: none */
	const char *about; /* what it counts */
	uint32_t type;     /* perf_event_attr.type; PERF_TYPE_RAW for RAW */
	uint64_t config;   /* perf_event_attr.config; 0 for RAW, which the parser encodes */
};

/* Called for each event; a nonzero result stops the iteration and is returned to the caller. */
typedef int attar_named_event_fn(void *ctx, const struct attar_named_event *event);

/*
 * Calls fn for each event that is known by a single word, by kind. Includes generic events that
 * this machine does not support, and if libpfm4 is installed, the events of its CPUs. Returns 0 or
 * the nonzero result of fn.
 */
ATTAR_API int attar_named_events(attar_named_event_fn *fn, void *ctx);

struct attar_event_list {
	size_t n;
	const struct attar_event_spec *at;
	unsigned n_groups;
};

/*
 * Parses a comma-separated event string (docs/events.md). Returns 0, or a negative errno and an
 * error message with the column and the expected syntax, followed by two lines: the string, and a
 * caret under the column. -EINVAL for invalid syntax, -ENOENT for names that do not exist on this
 * system, -EOPNOTSUPP for PMUs and probes that this machine or kernel does not have, and for
 * attributes that are not supported yet, -EACCES and -ENODEV as attar_catalog_format(). Free with
 * attar_event_list_free().
 */
ATTAR_API int attar_event_list_parse(
	struct attar_catalog *catalog, const char *text, struct attar_event_list **ret_list);

/*
 * The attribute of that name; if it is repeated (top-by, top-add), the first. NULL if the event
 * does not have it. Borrowed from the list.
 */
ATTAR_API const struct attar_event_option *attar_spec_get_option(
	const struct attar_event_spec *spec, const char *name);

/* Frees the list with all specs and their strings. Returns NULL. list may be NULL. */
ATTAR_API struct attar_event_list *attar_event_list_free(struct attar_event_list *list);

/*
 * Copies type, config..., breakpoint and modifiers of the spec to a zeroed struct perf_event_attr
 * of `size` bytes (from any version of the kernel headers) and sets its size member. config1 and
 * config2 may be addresses of strings owned by the list. Returns 0; -E2BIG if size is too small for
 * a member that the spec needs.
 */
ATTAR_API int attar_event_spec_attr(const struct attar_event_spec *spec, void *attr, size_t size);

/* ---- USDT probes of a file ---- */

/* A location of a probe. Strings are borrowed until the callback returns. */
struct attar_usdt_location {
	const char *event;  /* "usdt:FILE:PROVIDER:NAME", with FILE as it was given */
	uint64_t offset;    /* in the file, bytes */
	uint64_t semaphore; /* offset of the counter of listeners in the file; 0: none */
	/*
	 * "s32 arg1, x64 arg2, ? arg3": x is of a floating-point number, whose bits are fetched,
	 * and ? of an argument that cannot be fetched.
	 */
	const char *arguments;
	const char *operands; /* as in the note of the compiler: "-4@%edi 8@%rsi" */
};

/* Called for each location; a nonzero result ends the iteration and is returned. */
typedef int attar_usdt_location_fn(void *ctx, const struct attar_usdt_location *location);

/* ---- USDT probes that stay ---- */

/* Called with the name of a tracepoint; a nonzero result ends the iteration and is returned. */
typedef int attar_usdt_added_fn(void *ctx, const char *name);

/* Called with name, FILE:OFFSET and fetched arguments of a location; otherwise as above. */
typedef int attar_usdt_fn(void *ctx, const char *name, const char *location, const char *arguments);

/* ---- addresses ---- */

/* ---- tracefs ---- */

/*
 * The path where this catalog reads tracefs, borrowed from the catalog. Returns 0, or a negative
 * errno and an error message if tracefs cannot be used.
 */
ATTAR_API int attar_catalog_tracefs(struct attar_catalog *catalog, const char **ret_path);

#ifdef __cplusplus
}
#endif

#endif
