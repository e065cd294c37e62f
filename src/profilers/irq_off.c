/* SPDX-License-Identifier: MIT */
/*
 * irq-off: finds times with disabled interrupts. A timer on each CPU expires at fixed times; when
 * it fires late, the CPU did not take interrupts meanwhile.
 */
#include <errno.h>
#include <stdlib.h>

#include "attar/private/report.h"
#include "attar/run.h"

enum { CPUS_MAX = 8192, DEPTH_MAX = 127 };

/* Within this part of the period, and this time, a timer is not late. */
enum { JITTER_PART = 16, JITTER_NS = 50000 };

struct irq_off {
	uint64_t period, than; /* ns */
	bool graph;
	bool takes_stacks; /* for -g, or for outputs that are made for trees */
	bool counts;       /* samples count the switches of tasks since the one before */

	uint64_t expired[CPUS_MAX];  /* when the timer of the CPU expired last; 0: unknown */
	uint64_t refuted, longest;   /* delays of timers that fired in time, see is_refuted() */
	struct attar_keytable *cpus; /* delays by CPU */
	struct attar_stacks *stacks;
};

enum { LATE, SAMPLES, SUMS };

/* ---- samples ---- */

static void columns(struct attar_section *lines)
{
	attar_run_event_columns(lines);
	attar_section_column(lines, "irqs off", ATTAR_UNIT_NS);
	attar_section_main(lines);
}

/* How much later or earlier than due a timer fires that is in time. */
static uint64_t jitter_of(const struct irq_off *o)
{
	return o->period / JITTER_PART < JITTER_NS ? o->period / JITTER_PART : JITTER_NS;
}

/*
 * A timer that was late fires as soon as interrupts are enabled, at any time of the period. Some
 * kernels do not deliver the samples of an idle task: the next one is in time, whole periods after
 * the last one, and the CPU has switched tasks meanwhile. A recording need not have the switches.
 */
static bool is_refuted(const struct irq_off *o, const struct attar_event *ev, uint64_t delay)
{
	return delay + jitter_of(o) >= o->period &&
	       ev->time <= o->expired[ev->cpu] + jitter_of(o) && (!o->counts || ev->counts[0]);
}

/*
 * The delay of a sample. The timer expires at multiples of the period after the first time, which
 * is not known exactly: the earliest sample gives the best estimate.
 */
static uint64_t delay_of(struct irq_off *o, const struct attar_event *ev)
{
	uint64_t *expired = &o->expired[ev->cpu], due = *expired + o->period, delay;

	if (!*expired || ev->time < due) {
		*expired = ev->time;
		return 0;
	}
	delay = ev->time - due;
	*expired = due + (delay + jitter_of(o)) / o->period * o->period;
	if (*expired > ev->time)
		*expired = ev->time;
	if (delay <= o->than || !is_refuted(o, ev, delay))
		return delay;
	o->refuted++;
	o->longest = delay > o->longest ? delay : o->longest;
	return 0;
}

static int add_late(
	struct attar_run *run, struct irq_off *o, const struct attar_event *ev, uint64_t delay)
{
	attar_location locations[DEPTH_MAX];
	size_t depth = o->takes_stacks ? attar_event_stack(ev, locations, DEPTH_MAX) : 0;
	struct attar_section *lines;

	if (o->stacks && attar_stacks_add(o->stacks, ev->thread, locations, depth, delay) < 0)
		return -ENOMEM;
	if (!attar_run_wants(run, ATTAR_WANT_LINES))
		return 0;
	lines = attar_run_lines(run, "late timers", columns);
	if (!lines)
		return -ENOMEM;
	attar_run_event_row(run, lines, ev, ev->time);
	attar_cell_u64(lines, delay);
	attar_row_stack(lines, attar_run_symbols(run), locations, o->graph ? depth : 0);
	return 0;
}

/* As an event of another profiler: a timer that was late. */
static int irq_off_emits(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct irq_off *o = self;

	return ev->cpu < CPUS_MAX && delay_of(o, ev) > o->than;
}

static int on_timer(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct irq_off *o = self;
	struct attar_keyrow *row;
	uint64_t delay;

	if (ev->cpu >= CPUS_MAX)
		return 0;
	row = attar_keytable_at_u64(o->cpus, ev->cpu);
	if (!row)
		return -ENOMEM;
	row->interval.sums[SAMPLES]++;
	delay = delay_of(o, ev);
	if (delay <= o->than)
		return 0;
	row->interval.sums[LATE]++;
	if (attar_hist_add(&row->interval.hists[0], delay) < 0)
		return -ENOMEM;
	return add_late(run, o, ev, delay);
}

/* Samples that are missing look like late ones. */
static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct irq_off *o = self;

	if (ev->cpu < CPUS_MAX)
		o->expired[ev->cpu] = 0;
	return 0;
}

/* ---- reporting ---- */

static void add_row(
	struct attar_section *table, const struct attar_keyrow *row, enum attar_scope scope)
{
	const struct attar_keysums *sums = attar_keyrow_sums(row, scope);

	attar_section_row(table);
	attar_cell_u64(table, row->number);
	attar_cell_u64(table, sums->sums[SAMPLES]);
	attar_cell_hist(table, &sums->hists[0]);
}

static void refuted_remark(const struct irq_off *o, struct attar_report *report)
{
	if (o->refuted)
		attar_report_remark(report,
			"%llu delay%s left out, the longest of %.1f ms: the timer then fired in "
			"time%s; some kernels do not deliver the samples of an idle CPU",
			(unsigned long long)o->refuted, o->refuted == 1 ? " was" : "s were",
			(double)o->longest / 1e6,
			o->counts ? ", and the CPU had switched tasks meanwhile" : "");
}

static int irq_off_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct irq_off *o = self;
	struct attar_section *table = attar_report_table(report, "irq-off");
	const struct attar_stacks_opts opts = {.size = sizeof(opts),
		.weight = "delay",
		.unit = ATTAR_UNIT_NS,
		.for_trees = !o->graph};
	struct attar_keyrow *row = NULL;
	int r = attar_keytable_end_interval(o->cpus);

	attar_section_column(table, "cpu", ATTAR_UNIT_ID);
	attar_section_column(table, "samples", ATTAR_UNIT_COUNT);
	attar_section_hist_columns(table, ATTAR_UNIT_NS);
	while ((row = attar_keytable_next(o->cpus, row)))
		if (attar_keyrow_sums(row, scope)->sums[SAMPLES])
			add_row(table, row, scope);
	section_sort(table, 0, false);
	refuted_remark(o, report);
	return r == 0 ? attar_run_stacks(run, report, o->stacks, scope, &opts) : r;
}

/* ---- life ---- */

static void irq_off_defaults(void *self)
{
	struct irq_off *o = self;

	o->period = 1000000;
	o->than = 1000000;
}

static int irq_off_open(struct attar_run *run, void *self)
{
	struct irq_off *o = self;
	const struct attar_keytable_opts opts = {.size = sizeof(opts), .sums = SUMS, .hists = 1};
	struct attar_timer timer = {.period = o->period, .on_event = on_timer};
	int r;

	o->takes_stacks = o->graph || attar_run_wants(run, ATTAR_WANT_TREE);
	timer.stacks = o->takes_stacks;
	o->counts = attar_run_is_live(run);
	timer.events = o->counts ? "context-switches" : NULL;
	r = attar_run_timer(run, &timer);
	if (r == 0)
		r = attar_keytable_new(&opts, &o->cpus);
	return r == 0 && o->takes_stacks ? attar_stacks_new(attar_run_symbols(run), &o->stacks) : r;
}

static void irq_off_close(void *self)
{
	struct irq_off *o = self;

	attar_keytable_free(o->cpus);
	attar_stacks_free(o->stacks);
}

static const struct attar_option options[] = {
	ATTAR_TIME(struct irq_off, period, 0, "period", "TIME",
		"time between the expiries of the timer: nanoseconds, or with a unit (default 1ms)",
		.bare = 1, .min = 10000),
	ATTAR_TIME(struct irq_off, than, 0, "than", "TIME",
		"report longer delays: nanoseconds, or with a unit: 500us (default 1ms)",
		.bare = 1),
	ATTAR_FLAG(struct irq_off, graph, 'g', "call-graph",
		"show the stacks that enable interrupts again"),
	{0}};

static const struct attar_example examples[] = {
	{"irq-off --than 2ms -g", "code that disables interrupts for more than 2 ms"},
	{"irq-off --period 10ms --than 20ms -C 0-3 -i 1s", "four CPUs, at little cost"}, {0}};

const struct attar_profiler profiler_irq_off = {
	.name = "irq-off",
	.group = "Interrupts and timers",
	.summary = "find code that disables interrupts for a long time",
	.uses = ATTAR_USES_STACKS | ATTAR_USES_RINGS | ATTAR_GIVES_TREE,
	.needs = "perf events, whole system!",
	.self_size = sizeof(struct irq_off),
	.options = options,
	.examples = examples,
	.defaults = irq_off_defaults,
	.open = irq_off_open,
	.lost = on_lost,
	.report = irq_off_report,
	.close = irq_off_close,
	.emits = irq_off_emits,
};
