/* SPDX-License-Identifier: MIT */
/*
 * Events by name, open and running, for a stream of events by name and for a run alike: their
 * filters (source/filter.c), the counters that several of them share (source/share.h), and the
 * events of programs (source/programs.h), which can appear while the others are read.
 *
 * The owner adds sources and opens all of them; struct source_ops is what the two kinds of owners
 * do differently.
 */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include "attar/stream.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/usdt.h"
#include "expr/filter.h"
#include "source/user_events.h"

/* An event, which is open or to be opened. Its index is the number of its samples. */
struct source {
	char *name;
	const struct attar_event_spec *spec; /* borrowed; NULL: none */
	struct perf_event_attr attr;
	struct attar_counter *counter; /* NULL: not open, or another has it, or shared memory */
	char *filter;                  /* applied by the kernel; NULL: none */
	bool is_filtered;              /* the filter excludes more than this process */
	bool keeps_own;                /* this process is not excluded */
	struct filter *keep;           /* applied in user space; NULL: every sample is kept */
	struct filter *spare; /* replaces all but our own part of filter if the kernel rejects it */
	struct usdt *usdt;    /* converts its records; NULL: they are delivered unchanged */
	bool only_unshared;   /* with usdt: only samples of processes in programs.unshared count */
	bool is_left_out;     /* matched by a pattern and refused: see event/skipped_events.h */
	bool is_place_filtered; /* by the kernel: records are of this place of a probe only */
	unsigned modes;         /* samples in these only, see perf/modes.h; 0: in all */
	struct source_sharing {
		bool is_on;     /* it uses the counter of the source `owner` */
		uint32_t owner; /* its number */
		uint32_t next;  /* the next source with the same counter; 0: none */
	} shared;
	struct source_use *use; /* what a run does with its samples; NULL: it is of a stream */
};

#define NO_SOURCE UINT32_MAX

/* Where the events of programs are searched for. */
struct watched_programs {
	struct attar_catalog *catalog; /* borrowed, as the next one */
	const char *program;           /* that is launched; NULL: none */
	bool only_program;             /* nothing else is watched */
	parse_ints pids, tids;         /* the watched tasks; none: all */
};

/* Those that return an int return 0 or a negative errno with a message. */
struct source_ops {
	/* Before the source with this number is opened. NULL: nothing to do. */
	int (*opening)(void *ctx, size_t number);

	/* Opens the counter of a source, without its filter. */
	int (*open)(void *ctx, struct source *s);

	/* The counter is about to be closed. NULL: nothing to do. */
	void (*closing)(struct source *s);

	/* Frees s->use. NULL: there is none. */
	void (*free)(struct source *s);

	/* Whether each sample of a counter can be given to both sources. */
	bool (*can_share)(void *ctx, const struct source *a, const struct source *b);

	/* Adds what expressions need for the names of functions and tasks. */
	void (*expr)(void *ctx, struct attar_expr_opts *opts);

	/* Sets the members, of which the lists are empty. */
	int (*watched)(void *ctx, struct watched_programs *watched);

	/*
	 * Adds the source of an event of programs: of a USDT probe, or of one that was registered
	 * with the kernel later, which the source `asked` requested (NO_SOURCE: a probe).
	 */
	int (*add)(void *ctx, const struct attar_event_spec *spec, uint32_t asked);

	/* The newest source is of shared memory, as the source `asked` requested. May be NULL. */
	int (*discovered)(void *ctx, struct source *s, uint32_t asked);
};

/* The sources of events that programs emit, see source/programs.h. */
struct program_sources {
	struct user_events events;
	VEC(struct attar_event_spec *) usdt_specs; /* of sources that are USDT probes, owned */
	size_t n_opened;                           /* sources that existed at the start */
	struct map unshared; /* pids of processes that have the probe but no shared memory */
	bool is_unshared;    /* such processes are being searched */
	struct attar_expr_opts expr;
};

struct source_set {
	VEC(struct source) list;              /* by number, attar_event.counter */
	VEC(struct attar_event_list *) lists; /* owned, that specs are borrowed from */
	const struct source_ops *ops;
	void *ctx;                   /* the owner, for ops */
	struct attar_stream *stream; /* of the sources, borrowed; NULL: none */
	struct program_sources programs;
	bool are_recorded; /* samples are copied, and so given to one source only */
	bool has_warned;   /* of events whose samples share ids */
};

/*
 * Completes attributes with what the text of an event says: attr has the kind of its samples, and
 * how often they are taken unless the text says so.
 */
int source_attr(const struct attar_event_spec *spec, struct perf_event_attr *attr);

/* Adds a source, also while others are read. Takes over what it holds, also on failure. */
int sources_add(struct source_set *set, struct source *s);

/* Opens all sources. A source of a pattern that the kernel refuses is removed. */
int sources_open(struct source_set *set);

/* Opens one, with its filter. */
int source_open(struct source_set *set, struct source *s);

/* A list of counters, all borrowed. */
typedef VEC(struct attar_counter *) counter_list;

/*
 * Creates the stream of the open sources, and of further counters. opts.shm_source is set here.
 * *ret_stream stays NULL if there is no counter.
 */
int sources_stream(struct source_set *set, struct attar_target *target, const counter_list *more,
	struct attar_symbols *symbols, struct attar_stream_opts *opts,
	struct attar_stream **ret_stream);

/* Closes the counters of all, to open them again. Their stream has been freed. */
void sources_close(struct source_set *set);

/* Closes and frees all sources. */
void sources_done(struct source_set *set);

/* Closes a source and frees what it owns. */
void source_free(const struct source_set *set, struct source *s);

/* Removes the newest source. */
void sources_drop_last(struct source_set *set);

/* ---- source/filter.c ---- */

struct filter_choice;

/*
 * Decides how the filter of an event runs: see filter_choose(). Without a filter or format, the
 * choice stays as it is. An error message shows the place in the event string.
 */
int source_filter_choose(const struct attar_event_spec *spec, bool in_kernel,
	const struct attar_expr_opts *opts, struct filter_choice *ret_choice);

/* Decides whether the kernel or attar applies the filter of a source of the kernel. */
int source_set_filter(struct source_set *set, struct source *s);

/* Before it is opened: limits a source of a pattern to its place if it has its own counter. */
int source_filter_place(const struct source_set *set, struct source *s);

/* Sets `text` in place of the source's filter, if the kernel can apply it: 1, otherwise 0. */
int source_replace_filter(struct source_set *set, struct source *s, const char *text);

/* Sets the filter of the open counter; what the kernel rejects runs in attar if it can. */
int source_apply_filter(struct source *s);

/* Whether the sample of an event passes the filter. */
bool source_keeps(const struct filter *filter, const struct attar_event *event);

/*
 * Whether a source has the sample: its filter in attar keeps it, and it is in the source's modes.
 * event.record is `record`; the record of a USDT probe becomes one of its user event.
 */
bool source_takes(const struct source_set *set, const struct source *s, struct attar_record *record,
	const struct attar_event *event);

/*
 * The source with the number of a probe with many places that has the sample of a record; NO_SOURCE
 * if it is a place of none.
 */
uint32_t source_at_place(
	const struct source_set *set, uint32_t number, const struct attar_record *record);

#endif
