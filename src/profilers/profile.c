/* SPDX-License-Identifier: MIT */
/* profile: where the CPU time goes, by sampling. */
#include "base/base.h"
#include "run/stack_report.h"
#include "attar/run.h"

enum { DEPTH_MAX = 512, NS_PER_S = 1000000000 };

/* The number of samples of a CPU in the current second, for --than. */
struct cpu_second {
	uint64_t began; /* ns */
	uint64_t n;
};

struct profile {
	bool graph, each;
	double than; /* percent */

	struct stack_space space;
	struct samples interval, whole;
	struct functions functions;
	bool ready;
	VEC(struct cpu_second) seconds; /* by CPU */
};

/* --than: whether the CPU has already been busy for that share of the current second. */
static bool is_busy(struct attar_run *run, struct profile *p, const struct attar_event *ev)
{
	struct cpu_second *cpu;

	if (p->than <= 0)
		return true;
	while (p->seconds.n <= ev->cpu)
		if (!vec_add(&p->seconds))
			return true;
	cpu = &p->seconds.at[ev->cpu];
	if (ev->time - cpu->began >= NS_PER_S)
		*cpu = (struct cpu_second){.began = ev->time};
	return (double)++cpu->n >= (double)attar_run_freq(run) * p->than / 100;
}

static void columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "cpu", ATTAR_UNIT_ID);
	attar_section_column(lines, "period", ATTAR_UNIT_COUNT);
	attar_section_column(lines, "event", ATTAR_UNIT_TEXT);
}

/* --each: one line for each sample, its stack under it with -g. */
static int show(struct profile *p, struct attar_run *run, const struct attar_event *ev,
	const attar_location *locations, size_t n)
{
	struct attar_section *lines = attar_run_lines(run, "samples", columns);

	if (!lines)
		return base_oom();
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_text(lines, ev->thread->comm);
	if (ev->thread->tid < 0) /* exiting: tid is already invalid */
		attar_cell_none(lines);
	else
		attar_cell_u64(lines, (uint64_t)ev->thread->tid);
	attar_cell_u64(lines, ev->cpu);
	attar_cell_u64(lines, ev->record->sample.period);
	attar_cell_text(lines, attar_run_source_name(run, ev->counter));
	stack_report_lines(attar_run_symbols(run), lines, locations, p->graph ? n : 1);
	return 0;
}

static int on_sample(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct profile *p = self;
	attar_location locations[DEPTH_MAX];
	size_t n;

	if (!is_busy(run, p, ev))
		return 0;
	n = attar_event_stack(ev, locations, DEPTH_MAX);
	if (p->each) {
		int r = show(p, run, ev, locations, n);

		if (r < 0 || !attar_run_wants_tree(run))
			return r;
	}
	return samples_add(&p->interval, stack_space_task(&p->space, ev->thread),
		stacks_intern(&p->space.stacks, locations, n), 1);
}

static int profile_open(struct attar_run *run, void *self)
{
	struct profile *p = self;
	int r = stack_space_init(&p->space);

	functions_init(&p->functions, attar_run_symbols(run));
	p->ready = true;
	return r < 0 ? r : attar_run_sampler(run, true, on_sample);
}

/* Adds remarks about what did not fit the tables. */
static void remark_bounds(
	const struct profile *p, const struct stack_report *sr, struct attar_report *report)
{
	uint64_t stackless = p->space.stacks.refused + p->whole.refused;
	struct attar_symbols_stats symbols;

	attar_symbols_get_stats(p->functions.symbols, &symbols);
	if (symbols.dsos_refused)
		attar_report_remark(report,
			"the table of binaries is full: addresses in %llu mappings are shown "
			"without "
			"names",
			(unsigned long long)symbols.dsos_refused);
	if (stackless)
		attar_report_remark(report,
			"the table of stacks is full: %llu samples are counted without a stack",
			(unsigned long long)stackless);
	if (p->space.tasks.n > TASKS_THREADS)
		attar_report_remark(report,
			"more than %d threads were sampled: further ones are shown by name, "
			"without "
			"their tids",
			TASKS_THREADS);
	if (sr->others)
		attar_report_remark(report,
			"the table of thread names is full: %llu samples are shown as other tasks",
			(unsigned long long)sr->others);
}

static int profile_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct profile *p = self;
	struct stack_report sr = {
		.space = &p->space, .functions = &p->functions, .weight = "samples"};
	int r;

	if (p->each && !attar_run_wants_tree(run))
		return 0;
	sr.samples = &p->interval;
	r = samples_merge(&p->whole, &p->interval);
	if (scope == ATTAR_SCOPE_WHOLE)
		sr.samples = &p->whole;
	if (r == 0)
		r = stack_report_table(&sr, report, true);
	if (r == 0 && (p->graph || attar_run_wants_tree(run)))
		r = stack_report_tree(&sr, report);
	if (sr.idle)
		attar_report_remark(report,
			"excluded %llu of %llu samples that were taken on idle CPUs",
			(unsigned long long)sr.idle, (unsigned long long)sr.samples->total);
	attar_run_unresolved(run, sr.unresolved);
	remark_bounds(p, &sr, report);
	samples_reset(&p->interval);
	return r;
}

static void profile_close(void *self)
{
	struct profile *p = self;

	if (!p->ready)
		return;
	samples_done(&p->interval);
	samples_done(&p->whole);
	functions_done(&p->functions);
	stack_space_done(&p->space);
	vec_done(&p->seconds);
}

static const struct attar_option options[] = {
	ATTAR_FLAG(struct profile, graph, 'g', "call-graph", "show the hottest stacks as a tree"),
	ATTAR_FLAG(struct profile, each, 0, "each",
		"print every sample as it arrives, with its stack if -g is given"),
	ATTAR_PERCENT(struct profile, than, 0, "than", "PCT",
		"only count samples of a CPU while it is busy for more than this share of a "
		"second"),
	{0}};

static const struct attar_example examples[] = {
	{"profile", "the hottest functions of the whole system, until Ctrl-C"},
	{"profile -F 997 -g", "also the hottest stacks"},
	{"profile -d 10s -o cpu.html", "a flame graph of ten seconds, as an HTML page"},
	{"profile -F 997 -g --flame-graph cpu.folded", "folded stacks for other tools"},
	{"profile -F 997 -C 0-3 --exclude-kernel --than 30",
		"user code on four CPUs, while they are more than 30% busy"},
	{"profile -i 1s -p 1234", "one process and its new children, every second"},
	{"profile -g -- make -j4", "a command and all its child processes"}, {0}};

const struct attar_profiler profiler_profile = {
	.name = "profile",
	.group = "CPU",
	.summary = "where the CPU time goes: hottest functions and stacks, by sampling",
	.uses = ATTAR_USES_SAMPLING | ATTAR_USES_STACKS | ATTAR_USES_RINGS | ATTAR_GIVES_TREE,
	.needs = "perf events, whole system, hardware counters, kernel names",
	.self_size = sizeof(struct profile),
	.options = options,
	.examples = examples,
	.open = profile_open,
	.report = profile_report,
	.close = profile_close,
};
