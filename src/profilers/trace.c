/* SPDX-License-Identifier: MIT */
/* trace: events as they come, in order of time, with their fields. */
#include <stdio.h>

#include "attar/run.h"
#include "base/base.h"
#include "run/stackreport.h"

enum { DEPTH_MAX = 512, FIELDS_MAX = 4096 };

struct trace {
	struct attar_texts events;
	bool graph;
};

static void columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "cpu", ATTAR_UNIT_ID);
	attar_section_column(lines, "event", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "fields", ATTAR_UNIT_TEXT);
}

/* What the event carries: a tracepoint's fields as the kernel prints them, a breakpoint's address, or how often it had happened. */
static void fill_fields(
	char text[FIELDS_MAX], const struct attar_event_spec *spec, const struct attar_sample *s)
{
	if (spec->format && s->raw)
		attar_format_print(spec->format, s->raw, s->raw_size, text, FIELDS_MAX);
	else if (spec->kind == ATTAR_EVENT_BREAKPOINT)
		snprintf(text, FIELDS_MAX, "addr=0x%llx", (unsigned long long)s->addr);
	else
		snprintf(text, FIELDS_MAX, "period=%llu", (unsigned long long)s->period);
}

static int on_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, ev->counter);
	struct attar_section *lines = attar_run_lines(run, "events", columns);
	struct trace *t = self;
	attar_place places[DEPTH_MAX];
	char fields[FIELDS_MAX];

	if (!lines)
		return base_oom();
	fill_fields(fields, spec, &ev->record->sample);
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_text(lines, ev->thread->comm);
	attar_cell_u64(lines, (uint64_t)ev->thread->tid);
	if (ev->cpu == UINT32_MAX)
		attar_cell_none(lines);
	else
		attar_cell_u64(lines, ev->cpu);
	attar_cell_text(lines, spec->name);
	attar_cell_text(lines, fields);
	if (t->graph)
		stack_report_lines(attar_run_symbols(run), lines, places,
			attar_event_stack(ev, places, DEPTH_MAX));
	return 0;
}

static int trace_open(struct attar_run *run, void *self)
{
	struct trace *t = self;
	int r = 0;

	if (!t->events.n)
		return attar_fail(-EINVAL,
			"trace needs an event: -e sched:sched_switch; 'attar list' shows them");
	for (size_t i = 0; r == 0 && i < t->events.n; i++)
		r = attar_run_events(run, t->events.at[i], t->graph, on_event);
	return r;
}

/* Everything was shown as it came: the notes remain. */
static int trace_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	return 0;
}

static const struct attar_option options[] = {
	ATTAR_LIST(struct trace, events, 'e', "event", "EVENTS",
		"events to watch, separated by commas, * and ? allowed; may be given several times",
		.complete = "event"),
	ATTAR_FLAG(struct trace, graph, 'g', "call-graph", "print the stack of each event"),
	{0},
};

static const struct attar_example examples[] = {
	{"trace -e sched:sched_switch", "every switch from one thread to another, until Ctrl-C"},
	{"trace -e 'sched:sched_wakeup/prio<10/' -d 5s",
		"five seconds of wakeups of important threads, filtered by the kernel"},
	{"trace -e sched:sched_wakeup,sched:sched_switch -p 1234", "what one process does"},
	{"trace -e page-faults -g -- true", "each page fault of a command, with its stack"},
	{"trace -e sched:sched_switch help", "the fields of an event, and commands to begin with"},
	{0},
};

const struct attar_profiler profiler_trace = {
	.name = "trace",
	.group = "Events",
	.summary = "events as they come, in order of time, with their fields",
	.uses = ATTAR_USES_STACKS | ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct trace),
	.options = options,
	.examples = examples,
	.open = trace_open,
	.report = trace_report,
};
