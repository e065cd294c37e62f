/* SPDX-License-Identifier: MIT */
/*
 * attar/event.h - from the name of an event to what perf_event_open(2) needs.
 *
 * A struct attar_catalog knows the names of this system: the PMUs of sysfs, the tracepoints of
 * tracefs, the generic names of the kernel. A struct attar_event_list is a parsed event text: one
 * spec per event to open.
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
 * Life: a catalogue outlives its lists and formats. All of it belongs to one thread at a time.
 *
 * Sources: Documentation/ABI/testing/sysfs-bus-event_source-devices-* for PMUs, perf-list(1) for the
 * grammar of event texts, Documentation/trace/events.rst for formats and filters.
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
	const char *tracefs; /* NULL: wherever it is mounted */
	bool mount; /* mount tracefs when a tracepoint is asked for and it is not mounted */
	/*
	 * Borrowed for the life of the catalog. Once it is not 0, a list of events with patterns of many
	 * tracepoints ends with -ECANCELED; a signal handler or another thread may set it. NULL: never.
	 */
	const int *stop;
};

/*
 * Reads nothing yet: every table is read when it is first asked for. opts may be NULL. 0; -EINVAL and
 * -E2BIG for opts of another version; -ENOMEM. For attar_catalog_free().
 */
ATTAR_API int attar_catalog_new(
	const struct attar_catalog_opts *opts, struct attar_catalog **ret_catalog);

/* Removes the probes that it made in tracefs, too. NULL, for the caller's variable. Takes NULL. */
ATTAR_API struct attar_catalog *attar_catalog_free(struct attar_catalog *catalog);

/* ---- tracepoints ---- */

/*
 * The format of a tracepoint of this system, owned by the catalogue. 0; -ENOENT when there is none
 * of that name (the error text suggests one), -EACCES when tracefs may not be read, -ENODEV when it
 * is not mounted or not there, -EINVAL for what cannot be a name, -EBADMSG for a malformed format,
 * -ENOMEM.
 */
ATTAR_API int attar_catalog_format(struct attar_catalog *catalog, const char *system,
	const char *name, const struct attar_format **ret_format);

/*
 * Names functions in the records of this catalogue's formats through fn, which must not use the
 * catalogue. ctx is owned by the caller and outlives the catalogue.
 */
ATTAR_API void attar_catalog_resolver(
	struct attar_catalog *catalog, attar_address_fn *fn, void *ctx);

/* ---- PMUs ---- */

/* A device of sysfs that counts. Borrowed from the catalogue. */
struct attar_pmu {
	const char *name; /* "cpu", "cpu_atom", "uncore_imc_0" */
	uint32_t type;    /* perf_event_attr.type */
	bool core;        /* counts on CPU cores */
	bool system_wide; /* counts a device, not a task: only with pid -1, on each of cpus */
	size_t n_cpus;
	const int *cpus; /* where its events may be opened; none: anywhere */
};

/* The i-th PMU by name, NULL after the last. */
ATTAR_API const struct attar_pmu *attar_catalog_pmu(struct attar_catalog *catalog, size_t i);

/* A number out of the PMU's caps folder ("max_precise", "branches"). 0; -ENOENT when it tells none. */
ATTAR_API int attar_pmu_cap(const struct attar_pmu *pmu, const char *name, int64_t *ret_value);

/* An event that a PMU names in sysfs. Strings are borrowed until the callback returns. */
struct attar_pmu_event {
	const char *name;  /* written pmu/name/ */
	const char *terms; /* "event=0x3c,umask=?": the user gives what is "?" */
	const char *unit;  /* "" for plain counts */
	double scale;
};

/* Called for each event; a result that is not 0 ends the walk and is its result. */
typedef int attar_pmu_event_fn(void *ctx, const struct attar_pmu_event *event);

/* The events of a PMU, by name. 0, what fn returned, or a negative errno. */
ATTAR_API int attar_pmu_events(const struct attar_pmu *pmu, attar_pmu_event_fn *fn, void *ctx);

/* ---- events by name ---- */

enum attar_event_kind {
	ATTAR_EVENT_HARDWARE,   /* generic: cycles, instructions */
	ATTAR_EVENT_CACHE,      /* generic: L1-dcache-load-misses */
	ATTAR_EVENT_SOFTWARE,   /* of the kernel: page-faults */
	ATTAR_EVENT_RAW,        /* r1a8, 4:0x1a8, names of libpfm4 */
	ATTAR_EVENT_PMU,        /* pmu/term=1/, pmu/event/ */
	ATTAR_EVENT_TRACEPOINT, /* sched:sched_switch */
	ATTAR_EVENT_PROBE,      /* kprobe:, kretprobe:, uprobe:, uretprobe: */
	ATTAR_EVENT_BREAKPOINT, /* mem:0x1000/8:rw */
	ATTAR_EVENT_USER,       /* user_events:tick, of programs, where the kernel has not got it */
};

/* How the events of programs come. */
enum attar_transport {
	ATTAR_TRANSPORT_NONE,   /* it is no event of a program; or whatever way there is */
	ATTAR_TRANSPORT_KERNEL, /* a tracepoint of the kernel's user_events */
	ATTAR_TRANSPORT_SHM,    /* rings in memory that programs share with us */
	ATTAR_TRANSPORT_USDT,   /* the event's USDT probe, by a uprobe */
};

/* What stood between slashes beside filter and terms: "stack", "alias=x", "period=1000". */
struct attar_event_option {
	const char *name;
	const char *value; /* NULL without '=' */
};

/*
 * One event to open. Everything is borrowed from the list. The numbers of perf_event_attr stand
 * here as plain members, so that they do not depend on the headers of the machine that built the
 * program.
 */
struct attar_event_spec {
	const char *name;    /* to show: as written, or as expanded from a pattern */
	const char *pattern; /* that name was expanded from; NULL: named exactly */
	enum attar_event_kind kind;
	uint32_t type; /* perf_event_attr.type, and so on */
	uint32_t bp_type;
	uint64_t config, config1, config2, config3, config4;
	/* Modifiers. Nothing is excluded unless a modifier says so. */
	bool exclude_user, exclude_kernel, exclude_hv, exclude_host, exclude_guest, exclude_idle;
	bool pinned;        /* D */
	bool exclusive;     /* e */
	bool sample_read;   /* S: a sample of the leader carries the values of its group */
	bool weak_group;    /* W: may be opened one by one when the group does not fit */
	uint8_t precise_ip; /* p: 0..3 */
	bool precise_max;   /* P: as precise as the PMU can; precise_ip is its caps/max_precise */
	/* What the event asks for when it is sampled; 0: nothing said. At most one of the two. */
	uint64_t period, freq;
	/* Where it may be opened: a list of CPUs; none: anywhere. */
	size_t n_cpus;
	const int *cpus;
	bool system_wide; /* counts a device, not a task: only with pid -1, on each of cpus */
	/* How to show its count. */
	const char *unit; /* "Joules", "msec"; "" for plain counts */
	double scale;     /* shown = count * scale */
	bool per_package; /* one value per package, on whichever CPU it is read */
	bool snapshot;    /* a level, not a sum: a difference means nothing */
	/* Where it came from. */
	unsigned item;   /* which event of the text, from 0: those of one pattern share it */
	unsigned column; /* in the text, from 1 */
	int group;       /* members of one group are neighbours and share its number; -1: alone */
	const char *pmu; /* name of its PMU; NULL: the kernel chooses */
	const struct attar_format *format; /* of a tracepoint or probe; NULL for others */
	/*
	 * Of user_events:NAME/transport=kernel|shm|usdt/: how it comes. A tracepoint comes through
	 * the kernel. Of kind USER: what was asked for, and type and config are those of an event
	 * that never happens.
	 */
	enum attar_transport transport;
	const char *user_event; /* NAME or pattern, to be looked for in programs too; NULL: not */
	const char *filter;     /* sys:name/filter/: NULL without one; not interpreted here */
	size_t n_options;
	const struct attar_event_option *options; /* not interpreted here */
};

struct attar_event_list {
	size_t n;
	const struct attar_event_spec *at;
	unsigned n_groups;
};

/*
 * Parses a comma-separated event text in perf's grammar; the events it names. 0, or a negative
 * errno with a sentence that tells the column and what would be right: -EINVAL for what can never
 * be an event, -ENOENT for names that this system lacks, -EACCES and -ENODEV as
 * attar_catalog_format(). For attar_event_list_free().
 */
ATTAR_API int attar_event_list_parse(
	struct attar_catalog *catalog, const char *text, struct attar_event_list **ret_list);

/* With all specs and their strings. NULL, for the caller's variable. Takes NULL. */
ATTAR_API struct attar_event_list *attar_event_list_free(struct attar_event_list *list);

/*
 * Writes type, config..., breakpoint and modifiers of the spec into a zeroed struct perf_event_attr
 * of `size` bytes (of any kernel's header) and sets its size member. config1 and config2 may hold
 * addresses of strings of the list. 0; -E2BIG when the spec needs a member past size.
 */
ATTAR_API int attar_event_spec_attr(const struct attar_event_spec *spec, void *attr, size_t size);

/* "kernel", "shm", "usdt"; "" for none. */
ATTAR_API const char *attar_transport_name(enum attar_transport transport);

/* "hardware", "tracepoint" ...: for headings and messages. */
ATTAR_API const char *attar_event_kind_name(enum attar_event_kind kind);

/* ---- tracefs ---- */

/*
 * Mounts tracefs at /sys/kernel/tracing when it is mounted nowhere, and notes it in the log. 0,
 * also when it was mounted already; -EPERM without the right, -ENODEV when the kernel has no
 * tracing: the error text says what to do.
 */
ATTAR_API int attar_tracefs_mount(void);

/*
 * Where this catalogue reads tracefs: 0 and its path (borrowed from the catalogue), or the negative
 * errno and sentence of what stands in the way.
 */
ATTAR_API int attar_catalog_tracefs(struct attar_catalog *catalog, const char **ret_path);

#ifdef __cplusplus
}
#endif

#endif
