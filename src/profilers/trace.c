/* SPDX-License-Identifier: MIT */
/* trace: prints events as they occur, in order of time, with their fields. */
#include <stdio.h>

#include "attar/run.h"
#include "base/base.h"
#include "base/buf.h"
#include "tracefs/format.h"
#include "profilers/samplefields.h"
#include "run/run.h"
#include "run/stack_report.h"

enum { DEPTH_MAX = 512, FIELDS_MAX = 4096 };

struct trace {
	struct attar_texts events;
	bool graph;
	bool has_user; /* user events are among them: lines have a transport column */
};

static void columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "cpu", ATTAR_UNIT_ID);
	attar_section_column(lines, "event", ATTAR_UNIT_TEXT);
}

static void columns_of_kernel(struct attar_section *lines)
{
	columns(lines);
	attar_section_column(lines, "fields", ATTAR_UNIT_TEXT);
}

static void columns_of_user(struct attar_section *lines)
{
	columns(lines);
	attar_section_column(lines, "transport", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "fields", ATTAR_UNIT_TEXT);
}

/*
 * Formats the fields of a tracepoint as the kernel prints them, or those of the sample for other
 * events.
 */
static void fill_fields(struct attar_run *run, char text[FIELDS_MAX],
	const struct attar_event_spec *spec, const struct attar_event *ev)
{
	const struct attar_sample *s = &ev->record->sample;

	if (spec->format && s->raw)
		attar_format_print(spec->format, s->raw, s->raw_size, text, FIELDS_MAX);
	else
		sample_fields_text(run, ev, run_source_attr(run, ev->counter), text, FIELDS_MAX);
}

/* ---- fields as values ---- */

static void number_value(
	struct attar_section *lines, const struct attar_field *field, const void *at, size_t size)
{
	struct attar_field number = {.size = (uint16_t)size, .is_signed = field->is_signed};

	if (field->is_signed)
		attar_value_i64(lines, attar_field_i64(&number, at, size));
	else
		attar_value_u64(lines, attar_field_u64(&number, at, size));
}

static void described_values(
	struct attar_section *lines, const struct perfume_type *d, const char *at, size_t len)
{
	struct attar_field number = {.is_signed = d->is_signed};

	for (size_t i = 0; i + d->size <= len; i += d->size)
		if (d->is_float)
			attar_value_double(lines, perfume_type_double(d, at + i));
		else
			number_value(lines, &number, at + i, d->size);
}

static void bytes_value(struct attar_section *lines, const uint8_t *at, size_t len)
{
	struct buf hex _cleanup_(buf_done) = {0};

	for (size_t i = 0; i < len; i++)
		buf_printf(&hex, "%02x", at[i]);
	attar_value_text(lines, buf_text(&hex), hex.len);
}

static void field_value(
	struct attar_section *lines, const struct attar_field *field, const struct attar_sample *s)
{
	struct perfume_type d;
	size_t len;
	const char *at = attar_field_bytes(field, s->raw, s->raw_size, &len);
	bool described = perfume_type_of(field, &d);
	bool is_array = field->kind == ATTAR_FIELD_ARRAY;

	attar_row_value(lines, field->name, described ? d.is_array : is_array);
	if (!at)
		return;
	if (described)
		described_values(lines, &d, at, len);
	else if (field->kind == ATTAR_FIELD_NUMBER)
		number_value(lines, field, at, len);
	else if (field->kind == ATTAR_FIELD_STRING)
		attar_value_text(lines, at, strnlen(at, len));
	else if (is_array)
		for (size_t i = 0; field->element && i + field->element <= len; i += field->element)
			number_value(lines, field, at + i, field->element);
	else
		bytes_value(lines, (const uint8_t *)at, len);
}

/* Adds the fields of fill_fields() as separate values. */
static void add_values(struct attar_run *run, struct attar_section *lines,
	const struct attar_event_spec *spec, const struct attar_event *ev)
{
	const struct attar_sample *s = &ev->record->sample;

	if (!spec->format || !s->raw) {
		sample_fields_values(run, ev, run_source_attr(run, ev->counter), lines);
		return;
	}
	for (size_t i = 0; i < spec->format->n_fields; i++)
		if (!spec->format->fields[i].is_common)
			field_value(lines, &spec->format->fields[i], s);
}

/* ---- lines ---- */

/*
 * Samples of an exiting task have no valid tid; the tracepoint's common_pid field still has it.
 */
static void tid_cell(struct attar_section *lines, const struct attar_event_spec *spec,
	const struct attar_event *ev)
{
	const struct attar_field *field =
		spec->format ? attar_format_field(spec->format, "common_pid") : NULL;
	const struct attar_sample *s = &ev->record->sample;
	int64_t tid = ev->thread->tid;

	if (tid < 0 && field && s->raw)
		tid = attar_field_i64(field, s->raw, s->raw_size);
	if (tid < 0)
		attar_cell_none(lines);
	else
		attar_cell_u64(lines, (uint64_t)tid);
}

static int on_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, ev->counter);
	struct attar_section *lines;
	struct trace *t = self;
	attar_location locations[DEPTH_MAX];
	char fields[FIELDS_MAX];

	if (!attar_run_wants_lines(run))
		return 0;
	lines = attar_run_lines(run, "events", t->has_user ? columns_of_user : columns_of_kernel);
	if (!lines)
		return base_oom();
	fill_fields(run, fields, spec, ev);
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_text(lines, ev->thread->comm);
	tid_cell(lines, spec, ev);
	if (ev->cpu == UINT32_MAX)
		attar_cell_none(lines);
	else
		attar_cell_u64(lines, ev->cpu);
	attar_cell_text(lines, spec->name);
	if (t->has_user)
		attar_cell_text(
			lines, spec->transport ? attar_transport_name(spec->transport) : NULL);
	attar_cell_text(lines, fields);
	if (attar_run_wants_values(run))
		add_values(run, lines, spec, ev);
	if (t->graph)
		stack_report_lines(attar_run_symbols(run), lines, locations,
			attar_event_stack(ev, locations, DEPTH_MAX));
	return 0;
}

/*
 * Whether lines name kernel functions: by a print format (%pS and the like), or for the sampled
 * address.
 */
static bool names_kernel(const struct attar_event_spec *spec)
{
	static const char *const conversions[] = {"%pS", "%ps", "%pF", "%pf", "%pB"};

	if (!spec->format)
		return !spec->exclude_kernel && spec->kind != ATTAR_EVENT_USER;
	for (size_t i = 0; i < ARRAY_SIZE(conversions); i++)
		if (strstr(spec->format->print, conversions[i]))
			return true;
	return false;
}

/* Reads the kernel symbols now, not when the first event arrives. */
static void read_kernel_names(struct attar_run *run)
{
	struct attar_symbol symbol;

	attar_symbols_resolve(attar_run_symbols(run), attar_location_kernel(UINT64_MAX), &symbol);
	attar_error_clear();
}

static int trace_open(struct attar_run *run, void *self)
{
	struct trace *t = self;
	bool names = false;
	int r = 0;

	if (!t->events.n)
		return attar_fail(-EINVAL, "trace needs an event, such as -e sched:sched_switch; "
					   "'attar list' shows all");
	for (size_t i = 0; r == 0 && i < t->events.n; i++)
		r = attar_run_events(run, t->events.at[i], t->graph, on_event);
	for (uint32_t i = 0; r == 0 && attar_run_source_spec(run, i); i++) {
		const struct attar_event_spec *spec = attar_run_source_spec(run, i);

		t->has_user |= spec->user_event || spec->transport;
		names |= names_kernel(spec);
	}
	if (r == 0 && names && !run->opts.exclude_kernel)
		read_kernel_names(run);
	return r;
}

/* All events have been printed: the report only has notes. */
static int trace_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	return 0;
}

static const struct attar_option options[] = {
	ATTAR_LIST(struct trace, events, 'e', "event", "EVENTS",
		"events to print, separated by commas, * and ? match; may be repeated: "
		"sched:sched_switch, page-faults, mem:ADDRESS:rw, kprobe:FUNCTION, "
		"uprobe:FUNCTION@FILE, uretprobe:FUNCTION@FILE (FILE: a path, a program or a "
		"library)",
		.complete = "event"),
	ATTAR_FLAG(struct trace, graph, 'g', "call-graph", "print the stack of each event"),
	{0},
};

static const struct attar_example examples[] = {
	{"trace -e sched:sched_switch", "every context switch, until Ctrl-C"},
	{"trace -e 'sched:sched_wakeup/prio<10/' -d 5s",
		"five seconds of wakeups of high-priority threads, filtered in the kernel"},
	{"trace -e sched:sched_wakeup,sched:sched_switch -p 1234",
		"wakeups and context switches of one process"},
	{"trace -e uprobe:malloc@libc.so.6 -g -- true",
		"each call of a library function, with its stack"},
	{"trace -e page-faults -g -- true", "each page fault of a command, with its stack"},
	{"trace -e sched:sched_switch help", "the fields of an event, and example commands"},
	{0},
};

const struct attar_profiler profiler_trace = {
	.name = "trace",
	.group = "Events",
	.summary = "print events as they occur, in order of time, with their fields",
	.uses = ATTAR_USES_STACKS | ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct trace),
	.options = options,
	.examples = examples,
	.open = trace_open,
	.report = trace_report,
};
