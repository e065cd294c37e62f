/* SPDX-License-Identifier: MIT */
/*
 * Flight recorders: the rings of the events are overwritten, and their contents are delivered as a
 * dump when one is requested, when a condition is true, or at the end.
 *
 * The events whose fields the condition uses are opened twice: into the rings that are overwritten,
 * and with the condition as their filter into others, which are read at once. The rings are larger
 * than requested, for what is written until they are stopped.
 *
 * A condition that the kernel cannot evaluate needs every event anyway: then the rings are read as
 * usual, and the lines of events wait in the buffer until the condition is true, see run/lines.h.
 */
#include <stdio.h>

#include "run/deliver.h"
#include "run/intervals.h"
#include "run/parts.h"
#include "run/rings.h"
#include "run/run.h"
#include "run/parts/actions.h"
#include "run/events/expressions.h"
#include "run/events/open.h"
#include "run/events/sources.h"
#include "stream/stream.h"

enum { SPARE_BYTES = 1 << 20 }; /* for what is written until the rings are stopped */

struct flight {
	bool is_waiting;  /* for its condition: no dump at the end */
	bool asked;       /* a dump is due when the round is over */
	bool was_true;    /* the condition */
	const char *when; /* the condition; NULL: none. Owned by the run. */
	uint64_t since;   /* the time of the event that asked for the dump; 0: none did */
	uint64_t reach;   /* of the newest dump: the time from which on no ring has lost events */
	/* The newest dump: between these times, the rings were stopped for it. */
	uint64_t stopped, resumed;
	VEC(struct attar_event_spec *) specs; /* of conditions, owned */
	uint64_t missed; /* events meanwhile for which the condition was true */
};

static struct flight *flight_of(const struct attar_run *run)
{
	return run->parts.state[PART_FLIGHT];
}

/* The condition is true for an event, which the profiler does not see here. */
static int on_condition(struct attar_run *run, void *self, const struct attar_event *event)
{
	struct flight *flight = flight_of(run);

	run->notes.delivered--;
	run->notes.dropped++;
	flight->was_true = true;
	if (event->time > flight->stopped && event->time < flight->resumed) {
		flight->missed++;
		return 0;
	}
	if (!flight->asked)
		flight->since = event->time;
	flight->asked = true;
	return 0;
}

/* Delivers what the overwritten rings have. Requests meanwhile count as missed. */
static int flight_dump(struct attar_run *run, struct flight *flight)
{
	int r;

	flight->stopped = base_now();
	flight->resumed = UINT64_MAX;
	r = attar_stream_snapshot(run->stream);
	flight->reach = stream_snapshot_since(run->stream);
	if (r >= 0)
		r = run_deliver_round(run);
	flight->resumed = base_now();
	flight->asked = false;
	return r < 0 ? r : run_report_request(run, base_now());
}

static int flight_drained(struct attar_run *run, void *self)
{
	struct flight *flight = self;

	return flight->asked ? flight_dump(run, flight) : 0;
}

/* A report that is requested is a dump. */
static int flight_requested(struct attar_run *run, void *self)
{
	int r = rings_of(run)->overwritten ? flight_dump(run, self) : 0;

	return r < 0 ? r : rings_of(run)->overwritten != NULL;
}

/* The last dump, unless it waits for its condition. */
static int flight_ended(struct attar_run *run, void *self)
{
	const struct flight *flight = self;
	int r;

	if (!rings_of(run)->overwritten || flight->is_waiting)
		return 0;
	r = attar_stream_snapshot(run->stream);
	return r < 0 ? r : MIN(run_deliver_round(run), 0);
}

/* Sets the members of attr that the ring of a source requires. */
static int flight_attr(
	struct attar_run *run, void *self, const struct source *s, struct perf_event_attr *attr)
{
	if (!rings_of(run)->overwritten)
		return 0;
	if (source_fn(s) == on_condition) {
		attr->wakeup_watermark = 1;
		return 0;
	}
	attr->write_backward = 1;
	attr->wakeup_watermark = UINT32_MAX; /* nothing is read before a dump */
	return 0;
}

/* ---- the condition ---- */

/* The event with the condition as its filter; its strings are the run's. */
static struct attar_event_spec *add_condition(
	struct attar_run *run, const struct attar_event_spec *spec, const char *when)
{
	struct attar_event_spec *new = malloc(sizeof(*new));
	char *text = NULL;

	if (!new || vec_push(&flight_of(run)->specs, new) < 0) {
		free(new);
		base_oom();
		return NULL;
	}
	*new = *spec;
	new->n_options = 0;
	new->pattern = new->text = NULL; /* errors concern --dump-when */
	if (spec->filter && asprintf(&text, "(%s) && (%s)", spec->filter, when) < 0)
		text = NULL;
	new->filter = intern_text(&run->texts, text ? text : when);
	free(text);
	if (!new->filter) {
		base_oom();
		return NULL;
	}
	return new;
}

/*
 * Whether the condition can be evaluated for the event, by the kernel or else by attar. 1, 0 with
 * an error message, or -ENOMEM.
 */
static int is_evaluated(
	struct attar_run *run, const struct attar_event_spec *condition, bool *ret_in_kernel)
{
	struct filter_choice choice = {0};
	int r;

	if (!condition->format)
		return 0;
	r = run_choose_filter(run, condition, &choice);
	filter_free(choice.keep);
	/* the kernel does not know the fields of a profiler's events */
	*ret_in_kernel = choice.in_kernel && condition->kind != ATTAR_EVENT_PROFILER;
	return r == -ENOMEM ? r : r == 0;
}

static int watch(struct attar_run *run, const struct attar_event_spec *condition)
{
	struct perf_event_attr attr = {.sample_period = 1};

	run_stack_attr(&run->opts, false, NULL, &attr);
	attr.sample_type |= PERF_SAMPLE_RAW;
	return run_add_spec(run, condition, &attr, on_condition);
}

/* Keeps the condition of an event that has its fields. 0 or -ENOMEM. */
static int check(struct attar_run *run, const struct attar_event_spec *spec, const char *when)
{
	struct attar_event_spec *condition = add_condition(run, spec, when);
	struct flight *flight = flight_of(run);
	bool in_kernel = false;
	int r = condition ? is_evaluated(run, condition, &in_kernel) : -ENOMEM;

	if (r > 0) {
		run->lines.holds |= !in_kernel;
		return 0;
	}
	if (condition)
		free(flight->specs.at[--flight->specs.n]);
	return r;
}

/* Sets the conditions and the kind of the recorder. */
static int check_all(struct attar_run *run, const char *when)
{
	bool has_user = false;

	vec_each (&run->sources.list, s) {
		const struct attar_event_spec *spec = source_spec(s);
		int r = spec ? check(run, spec, when) : 0;

		if (r < 0)
			return r;
		/* the fields of a program's event are known when it appears */
		has_user |= spec && spec->kind == ATTAR_EVENT_USER;
	}
	run->lines.holds |= has_user || run->replay;
	if (flight_of(run)->specs.n || has_user) {
		attar_error_clear();
		return 0;
	}
	if (!*attar_error())
		attar_fail(-EINVAL, "no event has fields");
	return attar_context(-EINVAL, "the condition '%s' of a dump", CLIP(when));
}

static int set_conditions(struct attar_run *run)
{
	int r = 0;

	if (!run->replay)
		log_note("attar evaluates the condition of a dump: lines wait for it in the buffer "
			 "(--buffer)");
	for (size_t i = 0; r == 0 && i < run->sources.list.n; i++)
		r = source_set_actions(run, &run->sources.list.at[i]);
	return r;
}

static int watch_all(struct attar_run *run, const char *when)
{
	struct flight *flight = flight_of(run);
	int r = check_all(run, when);

	if (r < 0)
		return r;
	flight->is_waiting = true;
	flight->when = intern_text(&run->texts, when);
	if (!flight->when)
		return base_oom();
	rings_of(run)->spare = SPARE_BYTES;
	if (run->lines.holds)
		return set_conditions(run);
	rings_of(run)->overwritten = "--dump-when";
	for (size_t i = 0; r == 0 && i < flight->specs.n; i++)
		r = watch(run, flight->specs.at[i]);
	return r;
}

/* If lines wait for the condition: compiles it for a source whose format is known. */
static int flight_source(struct attar_run *run, void *self, struct source *s)
{
	const struct flight *flight = self;
	const struct attar_event_spec *spec = source_spec(s);
	struct filter_choice choice = {0};
	struct attar_expr_opts opts = {0};
	int r;

	if (!run->lines.holds || !flight->when || !spec || !spec->format)
		return 0;
	run_expr_opts(run, &opts);
	r = filter_choose(flight->when, spec->format, false, &opts, &choice);
	if (r == -EINVAL) { /* it has no such field, and only appears in the output */
		attar_error_clear();
		return 0;
	}
	filter_free(s->use->actions.condition);
	s->use->actions.condition = choice.keep;
	return r;
}

int run_overwrite(struct attar_run *run, const char *when)
{
	CHECK_OPENING(run);

	if (when)
		return watch_all(run, when);
	if (run->replay)
		return attar_fail(-EINVAL, "a recording has no rings that can be overwritten");
	rings_of(run)->overwritten = "--overwrite";
	return 0;
}

/* ---- what a dump has ---- */

/*
 * How many events were lost during dumps, how far the newest dump goes back, and at the end whether
 * the condition was never true, or was true during dumps.
 */
static void flight_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct flight *flight = self;
	uint64_t since = flight->since, reach = flight->reach, lost = rings_lost_for_dumps(run);

	if (scope == ATTAR_SCOPE_WHOLE && flight->when && !flight->was_true &&
		!run->lines.was_released)
		attar_report_remark(report,
			"the condition '%s' of a dump was not true for any event: no events are "
			"shown",
			flight->when);
	if (scope == ATTAR_SCOPE_WHOLE && lost)
		attar_report_remark(report,
			"events lost while the ring buffers were stopped for a dump: %llu; without "
			"%s, attar reads all events",
			(unsigned long long)lost, rings_of(run)->overwritten);
	if (scope == ATTAR_SCOPE_WHOLE && flight->missed)
		attar_report_remark(report,
			"events for which the condition '%s' was true while a dump was made, which "
			"the dumps may lack: %llu",
			flight->when, (unsigned long long)flight->missed);
	flight->since = flight->reach = 0;
	if (!since || !reach)
		return;
	if (reach <= since)
		attar_report_remark(report,
			"the events of the last %.3f ms before the condition was true are complete",
			(double)(since - reach) / 1e6);
	else
		attar_report_remark(report,
			"the events when the condition became true, and those of the %.3f ms "
			"after, were overwritten before attar could stop the ring buffers: a "
			"larger -m keeps them",
			(double)(reach - since) / 1e6);
}

static void flight_free(struct attar_run *run, void *self)
{
	struct flight *flight = self;

	vec_each (&flight->specs, spec)
		free(*spec);
	vec_done(&flight->specs);
}

const struct run_part part_flight = {.size = sizeof(struct flight),
	.source = flight_source,
	.attr = flight_attr,
	.drained = flight_drained,
	.requested = flight_requested,
	.ended = flight_ended,
	.remark = flight_remark,
	.free = flight_free};
