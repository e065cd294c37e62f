/* SPDX-License-Identifier: MIT */
/*
 * Internals of attar_stream_events(): events_sources.c and events_user.c add events, events_open.c
 * opens them, events_shared.c opens the same software event once, events_names.c names what filters
 * and print formats refer to, events.c is the rest.
 */
#ifndef STREAM_EVENTS_INTERNAL_H
#define STREAM_EVENTS_INTERNAL_H

#include "base/map.h"
#include "event/usdt.h"
#include "expr/filter.h"
#include "stream/stream.h"
#include "stream/user_events.h"

/* An event; its index is the number of its samples. */
struct event_source {
	const struct attar_event_spec *spec;
	struct attar_counter *counter; /* NULL: shared memory has it, or it is not open yet */
	char *in_kernel;               /* filter; NULL: none */
	struct filter *keep;           /* applied in attar; NULL: every sample is kept */
	struct filter *spare;          /* replaces in_kernel if the kernel rejects it */
	struct usdt *usdt;  /* converts its records; NULL: they are delivered unchanged */
	bool only_unshared; /* with usdt: only samples of processes in unshared count */
	/* See events_shared.c. */
	struct perf_event_attr attr; /* if is_filled */
	bool is_filled;
	unsigned modes;       /* samples in these only, see perf/modes.h; 0: in all */
	bool is_shared;       /* it has the samples of an earlier source, and no counter */
	uint32_t next_shared; /* the next source with the same samples; 0: none */
};

struct stream_events {
	struct attar_stream_events_opts opts;
	unsigned flags;
	struct attar_target *target; /* borrowed, as the next two if opts has them */
	struct attar_catalog *catalog;
	struct attar_symbols *symbols;
	struct attar_event_list *list;
	struct attar_stream *stream; /* that owns this; NULL: not created yet */
	VEC(struct event_source) sources;
	VEC(struct attar_event_spec *) usdt_specs; /* with their names on the heap */
	struct map unshared; /* pids of processes that have a probe but no shared memory */
	bool is_unshared;    /* such processes are being searched */
	struct user_events user;
	struct attar_expr_opts expr;
	uint64_t looked; /* ns */
	struct attar_event event; /* the last sample that several sources have */
	uint32_t again;           /* the next one that may take it; 0: none */
};

/* Closes and frees what a source holds. */
void event_source_done(struct event_source *s);

/* ---- events_sources.c ---- */

/* Adds the sources of an event; none is open yet. */
int events_add(struct stream_events *e, const struct attar_event_spec *spec);

/* Adds an event of the kernel. */
int events_add_spec(struct stream_events *e, const struct attar_event_spec *spec);

/* The watched tasks, borrowed from the target; none: all, or those of the command. */
struct user_tasks events_tasks(const struct stream_events *e);

/* The program of the command that the target launches; NULL: none. */
const char *events_program(const struct stream_events *e);

/* ---- events_open.c ---- */

/* Opens all sources; removes those that are left out. */
int events_open(struct stream_events *e);

/* Opens one source. */
int event_source_open(struct stream_events *e, struct event_source *s);

/* The attributes with which a source is opened. */
int event_source_fill(const struct stream_events *e, struct event_source *s);

/* ---- events_shared.c ---- */

/* Before the sources are opened: gives those that are the same software event the same modes. */
void events_join(struct stream_events *e);

/* Whether a source that is to be opened has the samples of an earlier one; sets is_shared. */
bool event_source_shares(struct stream_events *e, struct event_source *s);

/*
 * When all are open and have their final numbers: connects those that share samples. 0, or the
 * error of a source whose modes the kernel refuses, and that are not those of the common counter.
 */
int events_link(struct stream_events *e);

/* ---- events_user.c ---- */

/* Looks for the events of programs. To be called when the sources have their final numbers. */
int events_open_user(struct stream_events *e);

/* Logs how the events of programs are received. */
void events_note_user(struct stream_events *e);

/* ---- events_names.c ---- */

/* Sets the functions of expressions. */
void events_set_expr(struct stream_events *e);

/* An attar_address_fn with a struct stream_events. */
bool events_name_function(void *ctx, uint64_t address, struct attar_kernel_name *ret_name);

static inline bool events_keep_own(const struct stream_events *e)
{
	return e->flags & ATTAR_STREAM_KEEP_OWN;
}

#endif
