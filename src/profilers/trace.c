/* SPDX-License-Identifier: MIT */
/* trace: prints events as they occur, in order of time, with their fields. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attar/run.h"
#include "samplefields.h"

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
		sample_fields_text(
			run, ev, attar_run_source_attr(run, ev->counter), text, FIELDS_MAX);
}

/* ---- fields as values ---- */

static void add_number(
	struct attar_section *lines, const struct attar_number_type *type, const char *at)
{
	if (type->is_float)
		attar_value_double(lines, attar_number_double(type, at));
	else if (type->is_signed)
		attar_value_i64(lines, attar_number_i64(type, at));
	else
		attar_value_u64(lines, attar_number_u64(type, at));
}

/* In hexadecimal. */
static int add_bytes(struct attar_section *lines, const char *at, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char *hex = malloc(2 * len + 1);

	if (!hex)
		return attar_fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = digits[(uint8_t)at[i] >> 4];
		hex[2 * i + 1] = digits[(uint8_t)at[i] & 15];
	}
	attar_value_text(lines, hex, 2 * len);
	free(hex);
	return 0;
}

static int add_field(
	struct attar_section *lines, const struct attar_field *field, const struct attar_sample *s)
{
	struct attar_number_type type = {0};
	bool has_numbers = attar_field_number_type(field, &type);
	size_t len;
	const char *at = attar_field_bytes(field, s->raw, s->raw_size, &len);

	attar_row_value(lines, field->name, type.is_array);
	if (!at)
		return 0;
	if (has_numbers)
		for (size_t i = 0; type.size && i + type.size <= len; i += type.size)
			add_number(lines, &type, at + i);
	else if (field->kind == ATTAR_FIELD_STRING)
		attar_value_text(lines, at, strnlen(at, len));
	else
		return add_bytes(lines, at, len);
	return 0;
}

/* Adds the fields of fill_fields() as separate values. */
static int add_values(struct attar_run *run, struct attar_section *lines,
	const struct attar_event_spec *spec, const struct attar_event *ev)
{
	const struct attar_sample *s = &ev->record->sample;
	int r = 0;

	if (!spec->format || !s->raw) {
		sample_fields_values(run, ev, attar_run_source_attr(run, ev->counter), lines);
		return 0;
	}
	for (size_t i = 0; r == 0 && i < spec->format->n_fields; i++)
		if (!spec->format->fields[i].is_common)
			r = add_field(lines, &spec->format->fields[i], s);
	return r;
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
	int r = 0;

	if (!attar_run_wants_lines(run))
		return 0;
	lines = attar_run_lines(run, "events", t->has_user ? columns_of_user : columns_of_kernel);
	if (!lines)
		return -ENOMEM;
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
		r = add_values(run, lines, spec, ev);
	if (t->graph || spec->stack)
		attar_row_stack(lines, attar_run_symbols(run), locations,
			attar_event_stack(ev, locations, DEPTH_MAX));
	return r;
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
	for (size_t i = 0; i < sizeof(conversions) / sizeof(conversions[0]); i++)
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
		names |= !attar_run_source_attr(run, i)->exclude_kernel && names_kernel(spec);
	}
	if (r == 0 && names)
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
