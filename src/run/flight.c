/* SPDX-License-Identifier: MIT */
#include "run/flight.h"

#include <stdio.h>

#include "base/check_arg.h"
#include "run/actions.h"
#include "run/expressions.h"
#include "run/intervals.h"
#include "run/run.h"
#include "stream/stream.h"

enum { SPARE_BYTES = 1 << 20 }; /* for what is written until the rings are stopped */

/* The condition is true for an event, which the profiler does not see here. */
static int on_condition(struct attar_run *run, void *self, const struct attar_event *event)
{
	struct run_flight *flight = &run->flight;

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

void flight_begin_dump(struct attar_run *run)
{
	run->flight.stopped = base_now();
	run->flight.resumed = UINT64_MAX;
}

/* Requests since the last dump are answered by this one, or count as missed. */
void flight_end_dump(struct attar_run *run)
{
	run->flight.resumed = base_now();
	run->flight.asked = false;
}

void flight_set_attr(
	const struct attar_run *run, const struct source *s, struct perf_event_attr *attr)
{
	if (!run->flight.is_on)
		return;
	if (source_fn(s) == on_condition) {
		attr->wakeup_watermark = 1;
		return;
	}
	attr->write_backward = 1;
	attr->wakeup_watermark = UINT32_MAX; /* nothing is read before a dump */
}

/* ---- the condition ---- */

/* The event with the condition as its filter; its strings are the run's. */
static struct attar_event_spec *add_condition(
	struct attar_run *run, const struct attar_event_spec *spec, const char *when)
{
	struct attar_event_spec *new = malloc(sizeof(*new));
	char *text = NULL;

	if (!new || vec_push(&run->flight_specs, new) < 0) {
		free(new);
		base_oom();
		return NULL;
	}
	*new = *spec;
	new->n_options = 0;
	new->pattern = new->text = NULL; /* errors are those of --dump-when */
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
	bool in_kernel = false;
	int r = condition ? is_evaluated(run, condition, &in_kernel) : -ENOMEM;

	if (r > 0) {
		run->flight.holds |= !in_kernel;
		return 0;
	}
	if (condition)
		free(run->flight_specs.at[--run->flight_specs.n]);
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
	run->flight.holds |= has_user || run->replay;
	if (run->flight_specs.n || has_user) {
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
	run->lines.holds = true;
	for (size_t i = 0; r == 0 && i < run->sources.list.n; i++)
		r = source_set_actions(run, &run->sources.list.at[i]);
	return r;
}

static int watch_all(struct attar_run *run, const char *when)
{
	int r = check_all(run, when);

	if (r < 0)
		return r;
	run->flight.is_waiting = true;
	run->flight.when = intern_text(&run->texts, when);
	if (!run->flight.when)
		return base_oom();
	if (run->flight.holds)
		return set_conditions(run);
	run->flight.is_on = true;
	for (size_t i = 0; r == 0 && i < run->flight_specs.n; i++)
		r = watch(run, run->flight_specs.at[i]);
	return r;
}

int flight_set_condition(struct attar_run *run, struct source *s)
{
	const struct attar_event_spec *spec = source_spec(s);
	struct filter_choice choice = {0};
	struct attar_expr_opts opts = {0};
	int r;

	if (!run->flight.holds || !spec || !spec->format)
		return 0;
	run_expr_opts(run, &opts);
	r = filter_choose(run->flight.when, spec->format, false, &opts, &choice);
	if (r == -EINVAL) { /* it has no such field, and only appears in the output */
		attar_error_clear();
		return 0;
	}
	filter_free(s->condition);
	s->condition = choice.keep;
	return r;
}

int flight_release(struct attar_run *run, const struct attar_event *event)
{
	int r = lines_release(run);

	run->flight.was_true = true;
	if (r == 0)
		r = run_report_now(run, event->time); /* which is queued after the lines */
	return r == 0 ? lines_release(run) : r;
}

int attar_run_overwrite(struct attar_run *run, const char *when)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);

	if (when)
		return watch_all(run, when);
	if (run->replay)
		return attar_fail(-EINVAL, "a recording has no rings that can be overwritten");
	run->flight.is_on = true;
	return 0;
}

/* ---- what a dump has ---- */

size_t flight_ring_bytes(const struct attar_run *run)
{
	return run->rings.pages * RUN_PAGE_BYTES + (run->flight.is_waiting ? SPARE_BYTES : 0);
}

uint64_t flight_lost(const struct attar_run *run)
{
	return run->flight.is_on && run->stream ? stream_lost_while_stopped(run->stream) : 0;
}

const char *flight_option(const struct attar_run *run)
{
	return run->flight.when ? "--dump-when" : "--overwrite";
}

void flight_remark(struct attar_run *run, struct attar_report *report, enum attar_scope scope)
{
	uint64_t since = run->flight.since, reach = run->flight.reach;

	if (scope == ATTAR_SCOPE_WHOLE && run->flight.when && !run->flight.was_true)
		attar_report_remark(report,
			"the condition '%s' of a dump was not true for any event: no events are "
			"shown",
			run->flight.when);
	if (scope == ATTAR_SCOPE_WHOLE && flight_lost(run))
		attar_report_remark(report,
			"events lost while the ring buffers were stopped for a dump: %llu; without "
			"%s, attar reads all events",
			(unsigned long long)flight_lost(run), flight_option(run));
	if (scope == ATTAR_SCOPE_WHOLE && run->flight.missed)
		attar_report_remark(report,
			"events for which the condition '%s' was true while a dump was made, which "
			"the dumps may lack: %llu",
			run->flight.when, (unsigned long long)run->flight.missed);
	run->flight.since = run->flight.reach = 0;
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
