/* SPDX-License-Identifier: MIT */
/*
 * The events of a run that are sampled and delivered, as opposed to counted and read: what the run
 * does with the samples of each source (source/source.h).
 */
#ifndef RUN_SOURCE_SOURCES_H
#define RUN_SOURCE_SOURCES_H

#include "attar/run.h"
#include "run/input/guest.h"
#include "run/options.h"
#include "run/parts/timer.h"
#include "source/source.h"

struct emitter;
struct run_host;

struct source_use {
	attar_event_fn *fn;
	const struct attar_input *input; /* the fields that the profiler wants; NULL: none */
	const struct attar_field *fields[ATTAR_INPUT_FIELDS]; /* as bound: attar_event.fields */
	uint64_t steps;           /* parts that its samples pass before it, 1 << enum part_id */
	bool is_internal;         /* for the run, not an event of the profiler */
	bool is_direct;           /* in this round: its samples go to fn only */
	bool is_stopped;          /* by run_source_enable() */
	bool all_cpus;            /* of all CPUs, despite --cpus: attar_run_all_cpus() */
	bool pushes;              /* push= or --push: see run/record/push.h */
	bool is_fallback_allowed; /* cpu-clock may replace it */
	struct several {
		bool is_on; /* in this round: its samples may go to `repeats` or `turns` */
		attar_repeats_fn *repeats; /* of run_source_repeats(); NULL: none */
		attar_turns_fn *turns;     /* of run_source_turns(), with the source `other` */
		uint32_t other;
	} several;
	/* Only if fn is source_act(): see run/parts/actions.h. */
	struct source_actions {
		attar_event_fn *inner;    /* the profiler's function */
		struct attar_expr *exec;  /* exec=; NULL: none */
		bool triggers;            /* trigger */
		struct filter *condition; /* of a dump, see run/parts/flight.c; NULL: none */
	} actions;
	struct emission {
		struct emitter *emitter; /* the profiler whose event it is; NULL: none */
		uint32_t number;         /* of the source there */
		/* the event for the run's profiler, instead of spec; the emitter's */
		const struct attar_event_spec *shown;
	} emission;
	struct run_timer *timer;     /* NULL: not a timer */
	const struct run_host *host; /* whose event it is; NULL: this machine's */
	guest_vcpus vcpus;           /* of the guest that vm= names */
};

/* What a source set does for a run. */
extern const struct source_ops run_source_ops;

/*
 * Sets --exclude-* and the options for call chains in attr; call chains if stacks or an attribute
 * of the event requests them. spec may be NULL.
 */
void run_stack_attr(const struct common_opts *opts, bool stacks,
	const struct attar_event_spec *spec, struct perf_event_attr *attr);

/* -EINVAL: --exclude-user and --exclude-kernel leave nothing. */
int run_check_code(const struct common_opts *opts);

/*
 * Adds --exclude-user and --exclude-kernel to attr, -EINVAL as above; and the options for call
 * chains, if attr samples code that is not named by the event itself, as a tracepoint is.
 */
int run_select_sampled(const struct common_opts *opts, struct perf_event_attr *attr);

/*
 * Parses an event list; the run owns the result. -EOPNOTSUPP: one of the events is a profiler.
 */
int run_parse_events(
	struct attar_run *run, const char *text, const struct attar_event_list **ret_list);

/* Like attar_run_source(), but may be called at any time. */
int run_add_source(struct attar_run *run, const char *name, const struct perf_event_attr *attr,
	attar_event_fn *fn);

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
	return s->use->emission.shown ? s->use->emission.shown : s->spec;
}

/* A copy of *use; NULL: no memory. */
struct source_use *source_use_new(const struct source_use *use);

#endif
