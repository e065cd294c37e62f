/* SPDX-License-Identifier: MIT */
/*
 * hrtimer: a timer on each CPU, and a condition on what happened since it fired the last time,
 * which decides whether the stack is taken.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/run.h"
#include "lib/event_name.h"

enum { CPUS_MAX = 8192, DEPTH_MAX = 127, EVENTS_MAX = 64, NAME_BYTES = 64 };

struct cpu {
	uint64_t previous;           /* when the timer fired, ns; 0: never */
	uint64_t samples[2], hit[2]; /* by enum attar_scope */
};

struct hrtimer {
	const char *events, *condition;
	uint64_t period, freq;
	bool graph;
	bool takes_stacks; /* for -g, or for outputs that are made for trees */
	bool selects;      /* only samples in some tasks; timers and counts stay per CPU */

	size_t n; /* events */
	char names[EVENTS_MAX + 1][NAME_BYTES];
	struct attar_expr *expr; /* NULL: always true */
	struct attar_stacks *stacks;
	struct cpu cpus[CPUS_MAX];
};

/* ---- samples ---- */

static void columns(struct attar_section *lines)
{
	attar_run_event_columns(lines);
	attar_section_column(lines, "period", ATTAR_UNIT_NS);
	attar_section_main(lines);
	attar_section_column(lines, "counts", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
}

static int add_line(const struct hrtimer *h, struct attar_run *run, const struct attar_event *ev,
	uint64_t period, const attar_location *locations, size_t depth)
{
	struct attar_section *lines = attar_run_lines(run, "samples", columns);
	char text[EVENTS_MAX * (NAME_BYTES + 24)];
	size_t used = 0;

	if (!lines)
		return -ENOMEM;
	text[0] = '\0';
	attar_run_event_row(run, lines, ev, ev->time);
	attar_cell_u64(lines, period);
	for (size_t i = 0; i < h->n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s=%llu",
			i ? " " : "", h->names[i], (unsigned long long)ev->counts[i]);
	attar_cell_text(lines, text);
	if (attar_run_wants(run, ATTAR_WANT_VALUES))
		for (size_t i = 0; i < h->n; i++) {
			attar_row_value(lines, h->names[i], false);
			attar_row_value_u64(lines, ev->counts[i]);
		}
	attar_row_stack(lines, attar_run_symbols(run), locations, depth);
	return 0;
}

static bool is_true(const struct hrtimer *h, const struct attar_event *ev, uint64_t period)
{
	struct attar_expr_value values[EVENTS_MAX + 1] = {{.number = period}};
	struct attar_expr_record record;

	if (!h->expr)
		return true;
	for (size_t i = 0; i < h->n; i++)
		values[i + 1].number = ev->counts[i];
	attar_event_get_expr_record(ev, &record);
	record.variables = values;
	return attar_expr_is_true(h->expr, &record);
}

/* Whether the condition is true for the sample, and the time since the one before. */
static bool take_sample(struct attar_run *run, struct hrtimer *h,
	const struct attar_event *ev, uint64_t *ret_period)
{
	struct cpu *cpu;
	uint64_t period;

	if (ev->cpu >= CPUS_MAX)
		return false;
	cpu = &h->cpus[ev->cpu];
	period = ev->time - (cpu->previous ? cpu->previous : attar_run_began(run));
	cpu->previous = ev->time;
	if (h->selects && !attar_run_is_selected(run, ev->thread)) {
		attar_run_pass_over(run);
		return false;
	}
	cpu->samples[ATTAR_SCOPE_INTERVAL]++;
	if (!is_true(h, ev, period))
		return false;
	cpu->hit[ATTAR_SCOPE_INTERVAL]++;
	*ret_period = period;
	return true;
}

/* As an event of another profiler. */
static int hrtimer_emits(struct attar_run *run, void *self, const struct attar_event *ev)
{
	uint64_t period;

	return take_sample(run, self, ev, &period);
}

static int on_timer(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct hrtimer *h = self;
	attar_location locations[DEPTH_MAX];
	uint64_t period;
	size_t depth;
	int r = 0;

	if (!take_sample(run, h, ev, &period))
		return 0;
	depth = h->takes_stacks ? attar_event_stack(ev, locations, DEPTH_MAX) : 0;
	if (attar_run_wants(run, ATTAR_WANT_LINES))
		r = add_line(h, run, ev, period, locations, h->graph ? depth : 0);
	if (r == 0 && h->stacks)
		r = attar_stacks_add(h->stacks, ev->thread, locations, depth, 1);
	return r;
}

/* ---- reporting ---- */

static int hrtimer_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct hrtimer *h = self;
	const struct attar_stacks_opts opts = {.size = sizeof(opts), .for_trees = !h->graph};
	struct attar_section *table = attar_report_table(report, "timers");

	attar_section_column(table, "cpu", ATTAR_UNIT_ID);
	attar_section_column(table, "samples", ATTAR_UNIT_COUNT);
	attar_section_column(table, "true", ATTAR_UNIT_COUNT);
	for (size_t i = 0; i < CPUS_MAX; i++) {
		struct cpu *cpu = &h->cpus[i];

		cpu->samples[ATTAR_SCOPE_WHOLE] += cpu->samples[ATTAR_SCOPE_INTERVAL];
		cpu->hit[ATTAR_SCOPE_WHOLE] += cpu->hit[ATTAR_SCOPE_INTERVAL];
		if (cpu->samples[scope]) {
			attar_section_row(table);
			attar_cell_u64(table, i);
			attar_cell_u64(table, cpu->samples[scope]);
			attar_cell_u64(table, cpu->hit[scope]);
		}
		cpu->samples[ATTAR_SCOPE_INTERVAL] = cpu->hit[ATTAR_SCOPE_INTERVAL] = 0;
	}
	return attar_run_stacks(run, report, h->stacks, scope, &opts);
}

/* ---- life ---- */

/* The name of an event in the condition: its alias or bare name, with _ for - and : */
static int name_event(struct hrtimer *h, size_t i, const struct attar_event_spec *spec)
{
	if (i >= EVENTS_MAX)
		return attar_fail(-E2BIG, "hrtimer counts at most %d events", EVENTS_MAX);
	snprintf(h->names[i], NAME_BYTES, "%s", event_name_bare(spec));
	for (char *c = h->names[i]; *c; c++)
		if (*c == '-' || *c == ':')
			*c = '_';
	h->n = i + 1;
	return 0;
}

static int compile(struct attar_run *run, struct hrtimer *h, uint32_t source)
{
	struct attar_expr_variable variables[EVENTS_MAX + 1] = {{.name = "period"}};
	const struct attar_expr_opts opts = {.size = sizeof(opts),
		.flags = ATTAR_EXPR_CONDITION,
		.what = "condition",
		.n_variables = h->n + 1,
		.variables = variables};

	for (size_t i = 0; i < h->n; i++)
		variables[i + 1].name = h->names[i];
	return h->condition ? attar_run_expr(run, source, h->condition, &opts, &h->expr) : 0;
}

static int hrtimer_open(struct attar_run *run, void *self)
{
	struct hrtimer *h = self;
	struct attar_timer timer = {.events = h->events, .on_event = on_timer};
	const struct attar_event_spec *spec;
	uint32_t source;
	int r;

	if (h->period && h->freq)
		return attar_fail(-EINVAL, "--period and --freq are mutually exclusive");
	h->takes_stacks = h->graph || attar_run_wants(run, ATTAR_WANT_TREE);
	timer.stacks = h->takes_stacks;
	timer.period = h->freq ? 1000000000 / h->freq : h->period ? h->period : 10000000;
	h->selects = attar_run_target_kind(run) != ATTAR_TARGET_SYSTEM;
	r = h->selects ? attar_run_select_tasks(run) : 0;
	if (r == 0)
		r = attar_run_timer(run, &timer);
	source = attar_run_sources(run) - 1;
	for (size_t i = 0; r == 0 && (spec = run_timer_spec(run, source, i)); i++)
		r = name_event(h, i, spec);
	if (r == 0)
		r = compile(run, h, source);
	return r == 0 && h->takes_stacks ? attar_stacks_new(attar_run_symbols(run), &h->stacks) : r;
}

static void hrtimer_close(void *self)
{
	struct hrtimer *h = self;

	attar_expr_free(h->expr);
	attar_stacks_free(h->stacks);
}

static const struct attar_option options[] = {
	ATTAR_JOINED(struct hrtimer, events, 'e', "event", "EVENTS",
		"count these events between two samples of a CPU; may be repeated",
		.complete = "event"),
	ATTAR_TIME(struct hrtimer, period, 0, "period", "TIME",
		"time between samples: nanoseconds, or with a unit: 50ms (default 10ms)", .bare = 1,
		.min = 10000),
	ATTAR_COUNT(struct hrtimer, freq, 'F', "freq", "HZ", "samples per second", .min = 1,
		.max = 100000),
	ATTAR_TEXT(struct hrtimer, condition, 0, "condition", "EXPR",
		"print samples for which this expression on the counts of events and period (ns) "
		"is true; can also be given as an argument"),
	ATTAR_FLAG(struct hrtimer, graph, 'g', "call-graph", "show stacks"), {0}};

static const struct attar_example examples[] = {
	{"hrtimer -e sched:sched_switch -C 0 --period 50ms -g 'sched_switch==0'",
		"the code on CPU 0 when it has not switched tasks for 50 ms"},
	{"hrtimer -e irq:softirq_entry -F 100 'softirq_entry>1000' -g --flame-graph irq.html",
		"the code on CPUs with many soft interrupts"},
	{"hrtimer --period 1ms 'period>2000000'", "samples that are more than 1 ms late"}, {0}};

const struct attar_profiler profiler_hrtimer = {
	.name = "hrtimer",
	.group = "Interrupts and timers",
	.summary = "sample a CPU when a condition on the events since its last sample is true",
	.uses = ATTAR_USES_STACKS | ATTAR_USES_RINGS | ATTAR_GIVES_TREE,
	.needs = "perf events, whole system!, tracefs",
	.self_size = sizeof(struct hrtimer),
	.options = options,
	.examples = examples,
	.open = hrtimer_open,
	.report = hrtimer_report,
	.close = hrtimer_close,
	.emits = hrtimer_emits,
	.operand = "condition",
};
