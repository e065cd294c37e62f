/* SPDX-License-Identifier: MIT */
/* trace: prints events as they occur, in order of time, with their fields. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "attar/private/event.h"
#include "attar/private/report.h"
#include "lib/kernel_names.h"
#include "lib/sample_fields.h"

enum { DEPTH_MAX = 512, FIELDS_MAX = 4096 };

struct trace {
	struct attar_texts events;
	const char *dump_when;
	bool graph, overwrite;
	struct attar_stacks *stacks; /* of events, for other tools; NULL: not needed */
	bool has_hosts;              /* events of several hosts: lines have a host column */
	bool has_guests;             /* with vm=: lines have the thread of the virtual CPU */
	bool has_user;               /* user events are among them: lines have a transport column */
};

static void task_columns(struct attar_section *lines)
{
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "cpu", ATTAR_UNIT_ID);
	attar_section_column(lines, "event", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
}

static void columns_of_kernel(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	task_columns(lines);
	attar_section_column(lines, "fields", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
}

static void columns_of_hosts(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "host", ATTAR_UNIT_TEXT);
	task_columns(lines);
	attar_section_column(lines, "fields", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
}

static void columns_of_guests(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "host", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "vcpu_tid", ATTAR_UNIT_ID);
	task_columns(lines);
	attar_section_column(lines, "fields", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
}

static void columns_of_user(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	task_columns(lines);
	attar_section_column(lines, "transport", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "fields", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
}

/* The fields of a tracepoint as the kernel prints them, or of the sample for other events. */
static void add_fields(struct attar_run *run, struct attar_section *lines,
	const struct attar_event_spec *spec, const struct attar_event *ev)
{
	const struct attar_sample *s = &ev->record->sample;
	bool values = attar_run_wants(run, ATTAR_WANT_VALUES);
	struct sample_fields fields;
	char text[FIELDS_MAX];

	if (spec->format && s->raw) {
		cell_fields(lines, spec->format, s->raw, s->raw_size, values);
		return;
	}
	sample_fields_get(ev, attar_run_source_attr(run, ev->counter), &fields);
	sample_fields_text(run, &fields, text, sizeof(text));
	attar_cell_text(lines, text);
	if (values)
		sample_fields_values(run, &fields, lines);
}

static void add_vcpu(
	struct attar_run *run, struct attar_section *lines, const struct attar_event *ev)
{
	struct attar_vcpu vcpu;

	if (run_vcpu(run, ev, &vcpu))
		attar_cell_i64(lines, vcpu.tid);
	else
		attar_cell_none(lines);
}

/* ---- lines ---- */

static int add_span(struct attar_run *run, const struct attar_event_spec *spec,
	const struct attar_event *ev, uint64_t stack)
{
	const struct attar_sample *s = &ev->record->sample;
	struct attar_span span = {.begin = ev->time,
		.end = ev->time,
		.thread = ev->thread,
		.cpu = (int32_t)ev->cpu,
		.category = "event",
		.name = spec->name,
		.format = s->raw ? spec->format : NULL,
		.raw = s->raw,
		.raw_size = s->raw_size,
		.stack = stack,
		.weight = 1};
	struct sample_fields fields;
	char text[FIELDS_MAX];

	if (!span.format) {
		sample_fields_get(ev, attar_run_source_attr(run, ev->counter), &fields);
		sample_fields_text(run, &fields, text, sizeof(text));
		span.detail = text;
	}
	return attar_run_add_span(run, &span);
}

static int on_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, ev->counter);
	struct attar_section *lines;
	struct trace *t = self;
	attar_location locations[DEPTH_MAX];
	uint64_t stack = 0;
	size_t depth = 0;
	int r = 0;

	if (t->graph || spec->stack)
		depth = attar_event_stack(ev, locations, DEPTH_MAX);
	if (t->stacks && depth)
		r = attar_stacks_add_span(t->stacks, ev->thread, locations, depth, 1, &stack);
	if (r == 0 && attar_run_wants(run, ATTAR_WANT_SPANS))
		r = add_span(run, spec, ev, stack);
	if (r < 0 || !attar_run_wants(run, ATTAR_WANT_LINES))
		return r;
	lines = attar_run_lines(run, "events",
		t->has_guests  ? columns_of_guests
		: t->has_hosts ? columns_of_hosts
		: t->has_user  ? columns_of_user
			       : columns_of_kernel);
	if (!lines)
		return -ENOMEM;
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	if (t->has_hosts)
		attar_cell_text(lines, run_source_host(run, ev->counter));
	if (t->has_guests)
		add_vcpu(run, lines, ev);
	attar_cell_text(lines, ev->thread->comm);
	sample_tid_cell(lines, run_event_tid(run, ev));
	if (ev->cpu == UINT32_MAX)
		attar_cell_none(lines);
	else
		attar_cell_u64(lines, ev->cpu);
	attar_cell_text(lines, spec->name);
	if (t->has_user && !t->has_hosts)
		attar_cell_text(lines, spec->transport ? transport_name(spec->transport) : NULL);
	add_fields(run, lines, spec, ev);
	if (depth)
		attar_row_stack(lines, attar_run_symbols(run), locations, depth);
	return 0;
}

/*
 * Whether lines name kernel functions: by a print format (such as %pS), or for the sampled address.
 */
static bool names_kernel(const struct attar_event_spec *spec)
{
	static const char *const conversions[] = {"%pS", "%ps", "%pF", "%pf", "%pB"};

	if (!spec->format)
		return !spec->exclude_kernel && spec->kind != ATTAR_EVENT_USER;
	for (size_t i = 0; i < sizeof(conversions) / sizeof(conversions[0]); i++)
		if (strstr(spec->format->print, conversions[i]))
			return true;
	return false;
}

static int trace_open(struct attar_run *run, void *self)
{
	struct trace *t = self;
	bool names = false, stacks = t->graph;
	int r;

	r = attar_run_event_list(run, &t->events, t->graph, on_event);
	t->has_hosts = run_source_host(run, 0) != NULL;
	for (uint32_t i = 0; r == 0 && attar_run_source_spec(run, i); i++) {
		const struct attar_event_spec *spec = attar_run_source_spec(run, i);

		t->has_user |= spec->user_event || spec->transport;
		t->has_guests |= attar_spec_get_option(spec, "vm") != NULL;
		stacks |= spec->stack;
		names |= !attar_run_source_attr(run, i)->exclude_kernel && names_kernel(spec);
	}
	if (r == 0 && !stacks)
		r = run_check_no_tree(run);
	if (r == 0 && names)
		kernel_names_read(run);
	if (r == 0 && (t->overwrite || t->dump_when))
		r = run_overwrite(run, t->dump_when);
	if (r == 0 && stacks &&
		(attar_run_wants(run, ATTAR_WANT_TREE) || attar_run_wants(run, ATTAR_WANT_SPANS)))
		r = attar_stacks_new(attar_run_symbols(run), &t->stacks);
	return r;
}

/* All events have been printed: the report only has notes, and stacks for other tools. */
static int trace_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct attar_stacks_opts opts = {.size = sizeof(opts),
		.weight = "events",
		.tree = true,
		.no_table = true,
		.for_trees = true};
	struct trace *t = self;

	return attar_run_stacks(run, report, t->stacks, scope, &opts);
}

static void trace_close(void *self)
{
	struct trace *t = self;

	attar_stacks_free(t->stacks);
}

static const struct attar_option options[] = {
	ATTAR_LIST(struct trace, events, 'e', "event", "EVENTS",
		"events to print, separated by commas, * and ? match; may be repeated: "
		"sched:sched_switch, page-faults, mem:ADDRESS:rw, kprobe:FUNCTION, "
		"uprobe:FUNCTION@FILE, uretprobe:FUNCTION@FILE (FILE: a path, a program or a "
		"library)",
		.complete = "event"),
	ATTAR_FLAG(struct trace, graph, 'g', "call-graph", "print the stack of each event"),
	ATTAR_FLAG(struct trace, overwrite, 0, "overwrite",
		"flight recorder: print the newest events in the ring buffers (-m) at the end and "
		"on SIGUSR1"),
	ATTAR_TEXT(struct trace, dump_when, 0, "dump-when", "FILTER",
		"flight recorder: print the newest events when an event passes this filter, and on "
		"SIGUSR1"),
	{0},
};

static const struct attar_example examples[] = {
	{"trace -e sched:sched_switch", "every context switch, until Ctrl-C"},
	{"trace -e 'sched:sched_wakeup/prio<10/' -d 5s",
		"five seconds of wakeups of high-priority threads, filtered in the kernel"},
	{"trace -e sched:sched_wakeup,sched:sched_switch -p 1234",
		"wakeups and context switches of one process"},
	{"trace -e uprobe:malloc@libc.so.6 -g -- ls",
		"each call of a library function, with its stack"},
	{"trace -e sched:sched_switch --dump-when 'next_comm==\"bash\"' -m 16",
		"the context switches before each switch to a shell"},
	{"trace -e page-faults -g -- true", "each page fault of a command, with its stack"},
	{"trace -e 'sched:sched_switch,profile/-F 500 -g/' -p 1234",
		"context switches of a process, and samples of its code between them"},
	{"trace -e sched:sched_switch help", "the fields of an event, and examples"},
	{0},
};

const struct attar_profiler profiler_trace = {
	.name = "trace",
	.group = "Events",
	.summary = "print events with their fields as they occur, in time order",
	.uses = ATTAR_SHOWS_HOST | ATTAR_USES_STACKS | ATTAR_USES_RINGS | ATTAR_GIVES_TREE |
		ATTAR_GIVES_SPANS,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct trace),
	.options = options,
	.examples = examples,
	.open = trace_open,
	.report = trace_report,
	.close = trace_close,
};
