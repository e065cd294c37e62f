/* SPDX-License-Identifier: MIT */
/* The events of a run that are sampled and delivered, as opposed to counted and read. */
#ifndef RUN_SOURCE_SOURCES_H
#define RUN_SOURCE_SOURCES_H

#include "attar/run.h"
#include "base/vec.h"
#include "event/usdt.h"
#include "expr/filter.h"
#include "perf/counter.h"
#include "run/input/guest.h"
#include "run/options.h"
#include "run/source/timer.h"

struct emitter;
struct run_host;

struct source {
	char *name;
	struct perf_event_attr attr;
	attar_event_fn *fn;
	char *filter;     /* applied by the kernel; NULL: none */
	bool is_filtered; /* the filter excludes more than this process */
	struct attar_counter *counter;
	const struct attar_event_spec *spec; /* borrowed from one of the run's lists; NULL: none */
	bool is_fallback_allowed;            /* cpu-clock may replace it */
	struct usdt *usdt;    /* converts its records; NULL: they are delivered unchanged */
	struct filter *keep;  /* applied in user space; NULL: every sample is kept */
	struct filter *spare; /* replaces all but our own part of filter if the kernel rejects it */
	bool is_left_out;     /* matched by a pattern and refused: see event/skipped_events.h */
	const struct attar_input *input; /* the fields that the profiler wants; NULL: none */
	const struct attar_field *fields[ATTAR_INPUT_FIELDS]; /* as bound: attar_event.fields */
	struct run_timer *timer;                              /* NULL: not a timer */
	bool keeps_own; /* this process is not excluded: attar_run_keep_own() */
	bool all_cpus;  /* of all CPUs, despite --cpus: attar_run_all_cpus() */
	/* Only if fn is source_act(): see run/source/actions.h. */
	attar_event_fn *inner;    /* the profiler's function */
	struct attar_expr *exec;  /* exec=; NULL: none */
	bool triggers;            /* trigger */
	bool pushes;              /* push= or --push: see run/record/push.h */
	struct filter *condition; /* of a dump, see run/parts/flight.c; NULL: none */
	struct emitter *emitter;  /* the profiler whose event it is; NULL: none */
	uint32_t emitted;         /* with emitter: its number there */
	/* the same: for the run's profiler, instead of spec; the emitter's */
	const struct attar_event_spec *shown;
	const struct run_host *host; /* whose event it is; NULL: this machine's */
	guest_vcpus vcpus;           /* of the guest that vm= names */
	bool only_unshared; /* with usdt: only samples of processes in run->user.unshared count */
	/* See run/source/shared_counter.h. */
	bool is_shared;            /* it uses the counter of the source `owner` */
	bool is_stopped;           /* by attar_run_source_enable() */
	uint32_t owner;            /* its number */
	uint32_t next_shared;      /* the next source with the same counter; 0: none */
	uint32_t steps;            /* parts that its samples pass before it, 1 << enum part_id */
	bool is_internal;          /* for the run, not an event of the profiler */
	bool is_direct;            /* in this round: its samples go to fn only */
	bool takes_several;        /* in this round: its samples may go to `repeats` or `turns` */
	attar_repeats_fn *repeats; /* of attar_run_source_repeats(); NULL: none */
	attar_turns_fn *turns;     /* of attar_run_source_turns(), with the source `other` */
	uint32_t other;
	unsigned modes;   /* samples in these only, see perf/modes.h; 0: in all */
	unsigned only_in; /* the modes that the recording has it in; 0: in all that it should */
};

struct sources {
	VEC(struct source) list;              /* by number, attar_event.counter */
	VEC(struct attar_event_list *) lists; /* that their specs are borrowed from */
	const struct attar_input *input;      /* whose events are being added; NULL: none */
	struct latest_event {
		uint32_t counter;
		const struct attar_thread *thread; /* only compared */
	} latest;                                  /* of a source that takes several */
	bool has_warned;                           /* of events whose samples share ids */
};

/*
 * Sets --exclude-* and the options for call chains in attr; call chains if stacks or an attribute
 * of the event requests them. spec may be NULL.
 */
void run_stack_attr(const struct common_opts *opts, bool stacks,
	const struct attar_event_spec *spec, struct perf_event_attr *attr);

/*
 * Parses an event list; the run owns the result. -EOPNOTSUPP: one of the events is a profiler.
 */
int run_parse_events(
	struct attar_run *run, const char *text, const struct attar_event_list **ret_list);

/* Like attar_run_source(), but may be called at any time. */
int run_add_source(struct attar_run *run, const char *name, const struct perf_event_attr *attr,
	attar_event_fn *fn);

/* Decides whether the kernel or attar applies the filter of a source. */
int source_choose_filter(struct attar_run *run, struct source *s);

/* Adds an event as a source; attr has the sampling settings, which the spec may override. */
int run_add_spec(struct attar_run *run, const struct attar_event_spec *spec,
	struct perf_event_attr *attr, attar_event_fn *fn);

/*
 * The CPUs of the target that an event is restricted to: by cpus=, or by --cpus if other events
 * have all CPUs. spec may be NULL.
 */
struct counter_cpus run_only_cpus(const struct attar_run *run, const struct attar_event_spec *spec);

/* The spec of a source for the run's profiler; NULL: none. */
static inline const struct attar_event_spec *source_spec(const struct source *s)
{
	return s->shown ? s->shown : s->spec;
}

/* Applies the filter of a source in user space, since the kernel rejected it. */
int run_filter_in_attar(struct source *s);

/* Opens one source on the run's target. */
int run_open_source(struct attar_run *run, struct source *s);

/* Closes its counter, for another run of the command. */
void run_close_source(struct source *s);

/* Closes a source and frees what it owns. */
void source_free(struct source *s);

/* Closes and frees all sources. */
void run_sources_free(struct attar_run *run);

/* Removes the sources that are left out. */
void run_sources_drop(struct attar_run *run);

#endif
