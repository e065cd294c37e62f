/* SPDX-License-Identifier: MIT */
#include "cli/commands/list_recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/private/event.h"
#include "cli/cli.h"
#include "cli/commands/list.h"

/* Reads the recording as a profiler of all its events. */
struct recorded {
	const char *pattern; /* NULL: all events */
	uint64_t *samples;   /* by source */
	uint32_t n;
	uint64_t found;
	uint64_t first, last; /* ns, of the events on the clock of the recording */
};

/* ---- the profiler ---- */

static int on_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct recorded *r = self;

	(void)run;
	if (!r->first)
		r->first = ev->time;
	r->last = ev->time;
	if (ev->counter < r->n)
		r->samples[ev->counter]++;
	return 0;
}

static int recorded_open(struct attar_run *run, void *self)
{
	const struct attar_texts all = {0};
	struct recorded *r = self;
	int e = attar_run_event_list(run, &all, false, on_event);

	r->n = attar_run_sources(run);
	r->samples = calloc(r->n + 1UL, sizeof(*r->samples));
	return e < 0 || r->samples ? e : attar_fail(-ENOMEM, "out of memory");
}

static void add_event(struct recorded *r, struct attar_section *table,
	const struct attar_event_spec *spec, uint64_t samples)
{
	const char *kind = event_kind_name(spec->kind);
	struct buf fields _cleanup_(buf_done) = {0};

	if (!list_wants(r->pattern, kind, spec->name))
		return;
	r->found++;
	if (spec->format)
		list_put_fields(&fields, spec->format);
	attar_section_row(table);
	attar_cell_text(table, spec->name);
	attar_cell_text(table, kind);
	attar_cell_u64(table, samples);
	attar_cell_text(table, buf_text(&fields));
}

/* The times that --from and --to of other commands select from. */
static int add_times(struct attar_run *run, const struct recorded *r, struct attar_report *report)
{
	uint64_t first = 0, last = 0;
	const int e = run_get_recorded_times(run, &first, &last);
	struct attar_section *table;

	if (e == 0) { /* of a pipe */
		first = r->first;
		last = r->last;
	}
	if (e < 0 || !first)
		return e < 0 ? e : 0;
	table = attar_report_table(report, "times");
	attar_section_column(table, "first event", ATTAR_UNIT_TIME);
	attar_section_column(table, "last event", ATTAR_UNIT_TIME);
	attar_section_column(table, "duration", ATTAR_UNIT_NS);
	attar_section_row(table);
	attar_cell_u64(table, attar_run_realtime(run, first));
	attar_cell_u64(table, attar_run_realtime(run, last));
	attar_cell_u64(table, last - first);
	return 0;
}

static int recorded_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *table = attar_report_table(report, "events");
	const struct attar_event_spec *spec;
	struct recorded *r = self;

	(void)scope;
	attar_section_column(table, "name", ATTAR_UNIT_TEXT);
	attar_section_column(table, "kind", ATTAR_UNIT_TEXT);
	attar_section_column(table, "samples", ATTAR_UNIT_COUNT);
	attar_section_column(table, "fields", ATTAR_UNIT_TEXT);
	for (uint32_t i = 0; i < r->n; i++)
		if ((spec = attar_run_source_spec(run, i)))
			add_event(r, table, spec, r->samples[i]);
	if (r->pattern && !r->found)
		return attar_fail(
			-ENOENT, "the recording has no event that matches '%s'", CLIP(r->pattern));
	return r->pattern ? 0 : add_times(run, r, report);
}

static void recorded_close(void *self)
{
	free(((struct recorded *)self)->samples);
}

static const struct attar_option options[] = {
	ATTAR_TEXT(struct recorded, pattern, 0, "pattern", "PATTERN", NULL), {0}};

static const struct attar_profiler profiler = {.name = "list",
	.group = "",
	.summary = "list the events of a recording",
	.uses = ATTAR_USES_RINGS,
	.self_size = sizeof(struct recorded),
	.options = options,
	.examples = (const struct attar_example[]){{0}},
	.open = recorded_open,
	.report = recorded_report,
	.close = recorded_close};

/* ---- the command ---- */

struct output {
	bool json, names;
	int status;
};

static void print_names(const struct attar_report *report)
{
	const struct attar_section *table = attar_report_get_section(report, 0);

	for (size_t i = 0; i < attar_section_get_rows(table); i++)
		puts(attar_section_get_cell(table, i, 0).text);
}

static int take_report(void *ctx, const struct attar_report *report, enum attar_scope scope)
{
	struct output *output = ctx;

	(void)scope;
	if (output->names)
		print_names(report);
	output->status = output->names ? print_end() : print_report(report, output->json, false);
	return 0;
}

/* Describes an event with this full name. Returns the exit status, or -1: it is not there. */
static int describe(struct attar_run *run, const char *name)
{
	const struct attar_event_list *list;
	struct buf b _cleanup_(buf_done) = {0};

	if (!strchr(name, ':') || strpbrk(name, "*?[") || run_find_events(run, name, &list) < 0 ||
		event_help(&b, list) < 0)
		return -1;
	return print_buf(&b);
}

int list_recorded(const char *input, const char *pattern, bool json, bool names)
{
	struct output output = {.json = json, .names = names};
	const struct attar_run_hooks hooks = {
		.size = sizeof(hooks), .ctx = &output, .report = take_report};
	struct attar_run *run = NULL;
	int status = -1, r = attar_run_from(&profiler, &run);

	if (r == 0)
		r = attar_run_set(run, "input", input);
	if (r == 0 && pattern && !json && !names)
		status = describe(run, pattern);
	if (r == 0 && pattern)
		r = attar_run_set(run, "pattern", pattern);
	if (r == 0 && status < 0)
		r = attar_run_go(run, &hooks);
	attar_run_free(run);
	return r < 0 ? (int)report_error(status_of(r)) : status < 0 ? output.status : status;
}
