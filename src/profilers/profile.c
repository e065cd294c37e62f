/* SPDX-License-Identifier: MIT */
/* profile: where the CPU time goes, by sampling. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "lib/sample_weight.h"
#include "lib/task_sums.h"

enum { DEPTH_MAX = 512, NS_PER_S = 1000000000 };

/* Sums of a row of --by. */
enum { SUM_WEIGHT, SUM_SAMPLES, SUMS };

/* The number of samples of a CPU in the current second, for --min-busy. */
struct cpu_second {
	uint64_t began; /* ns */
	uint64_t n;
};

struct profile {
	bool graph, print_samples;
	double min_busy; /* percent */
	const char *by_text;

	struct sample_weight weight;
	struct attar_stacks *stacks;
	struct task_sums tasks;     /* of --by */
	struct cpu_second *seconds; /* by CPU */
	size_t n_seconds;
};

/* The second of a CPU, NULL if out of memory. */
static struct cpu_second *second_of(struct profile *p, uint32_t cpu)
{
	struct cpu_second *more;
	size_t n = (size_t)cpu + 1;

	if (cpu < p->n_seconds)
		return &p->seconds[cpu];
	more = realloc(p->seconds, n * sizeof(*more));
	if (!more)
		return NULL;
	memset(more + p->n_seconds, 0, (n - p->n_seconds) * sizeof(*more));
	p->seconds = more;
	p->n_seconds = n;
	return &more[cpu];
}

/* --min-busy: whether the CPU has already been busy for that share of the current second. */
static bool is_busy(struct attar_run *run, struct profile *p, const struct attar_event *ev)
{
	struct cpu_second *cpu;

	if (p->min_busy <= 0)
		return true;
	cpu = second_of(p, ev->cpu);
	if (!cpu)
		return true;
	if (ev->time - cpu->began >= NS_PER_S)
		*cpu = (struct cpu_second){.began = ev->time};
	return (double)++cpu->n >= (double)run_freq(run) * p->min_busy / 100;
}

static void columns(struct attar_section *lines)
{
	attar_run_event_columns(lines);
	attar_section_column(lines, "period", ATTAR_UNIT_COUNT);
	attar_section_main(lines);
	attar_section_column(lines, "event", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
}

/* --print-samples: one line for each sample, its stack under it with -g. */
static int profile_show(struct profile *p, struct attar_run *run, const struct attar_event *ev,
	const attar_location *locations, size_t n)
{
	struct attar_section *lines = attar_run_lines(run, "samples", columns);

	if (!lines)
		return -ENOMEM;
	attar_run_event_row(run, lines, ev, ev->time);
	attar_cell_u64(lines, ev->record->sample.period);
	attar_cell_text(lines, attar_run_source_name(run, ev->counter));
	attar_row_stack(lines, attar_run_symbols(run), locations, p->graph ? n : 1);
	return 0;
}

static int add_task(struct attar_run *run, struct profile *p, const struct attar_event *ev)
{
	const uint64_t numbers[SUMS] = {
		[SUM_WEIGHT] = sample_weight_get(&p->weight, ev), [SUM_SAMPLES] = 1};

	return task_sums_add(run, &p->tasks, ev->thread, numbers);
}

/* On a time line, a sample only says where its thread was. */
static int add_sample(struct attar_run *run, struct profile *p, const struct attar_event *ev,
	const attar_location *locations, size_t n)
{
	struct attar_span span = {.begin = ev->time,
		.end = ev->time,
		.thread = ev->thread,
		.cpu = (int32_t)ev->cpu,
		.category = "sample",
		.weight = sample_weight_get(&p->weight, ev),
		.is_sample = true};
	int r;

	if (!attar_run_wants(run, ATTAR_WANT_SPANS))
		return attar_stacks_add(p->stacks, ev->thread, locations, n, span.weight);
	r = attar_stacks_add_span(p->stacks, ev->thread, locations, n, span.weight, &span.stack);
	return r == 0 ? attar_run_add_span(run, &span) : r;
}

static int on_sample(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct profile *p = self;
	attar_location locations[DEPTH_MAX];
	size_t n;

	if (!is_busy(run, p, ev))
		return 0;
	n = attar_event_stack(ev, locations, DEPTH_MAX);
	if (p->print_samples) {
		int r = attar_run_wants(run, ATTAR_WANT_LINES)
				? profile_show(p, run, ev, locations, n)
				: 0;

		if (r < 0 || !attar_run_wants(run, ATTAR_WANT_TREE))
			return r;
	}
	if (p->tasks.table && add_task(run, p, ev) < 0)
		return -ENOMEM;
	return add_sample(run, p, ev, locations, n);
}

/* As an event of another profiler. */
static int profile_emits(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return is_busy(run, self, ev);
}

static int profile_open(struct attar_run *run, void *self)
{
	const struct attar_event_spec *spec;
	struct profile *p = self;
	int r = attar_stacks_new(attar_run_symbols(run), &p->stacks);

	if (r == 0)
		r = attar_run_sampler(run, p->graph || !run_emits(run), on_sample);
	if (r < 0)
		return r;
	p->weight = sample_weight_of_run(run);
	r = task_sums_open(run, p->by_text, p->stacks, SUMS, &p->tasks);
	if (r < 0)
		return r;
	spec = attar_run_source_spec(run, 0);
	p->graph |= spec && spec->stack;
	return 0;
}

static const struct task_sum_column task_columns[SUMS] = {
	[SUM_SAMPLES] = {"samples", ATTAR_UNIT_COUNT}};

static int profile_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct profile *p = self;
	struct attar_stacks_opts opts = {.size = sizeof(opts),
		.weight = p->weight.unit,
		.tree = p->graph,
		.for_trees = p->print_samples,
		.cpu_ns = sample_weight_cpu_ns(run)};

	if (p->print_samples && !attar_run_wants(run, ATTAR_WANT_TREE))
		return 0;
	if (task_sums_report(run, &p->tasks, report, scope, task_columns) < 0)
		return -ENOMEM;
	return attar_run_stacks(run, report, p->stacks, scope, &opts);
}

static void profile_close(void *self)
{
	struct profile *p = self;

	attar_stacks_free(p->stacks);
	task_sums_close(&p->tasks);
	free(p->seconds);
}

static const struct attar_option options[] = {
	ATTAR_FLAG(struct profile, graph, 'g', "call-graph", "show the hottest stacks as a tree"),
	ATTAR_TEXT(struct profile, by_text, 0, "by", "WHAT",
		"also show the share of each " TASK_BY_HELP ", above its stacks"),
	ATTAR_FLAG(struct profile, print_samples, 0, "print-samples",
		"print every sample as it arrives, with its stack if -g is given"),
	ATTAR_PERCENT(struct profile, min_busy, 0, "min-busy", "PCT",
		"only count samples of a CPU in seconds in which it is busy for more than this "
		"share"),
	ATTAR_FLAG(struct profile, print_samples, 0, "detail", NULL),
	ATTAR_FLAG(struct profile, print_samples, 0, "each", NULL),
	ATTAR_PERCENT(struct profile, min_busy, 0, "than", "PCT", NULL), {0}};

static const struct attar_example examples[] = {
	{"profile", "the hottest functions of the whole system, until Ctrl-C"},
	{"profile -F 997 -g", "also the hottest stacks"},
	{"profile -d 10s -o cpu.html", "a flame graph of ten seconds, as an HTML page"},
	{"profile -F 997 -g --flame-graph cpu.folded", "folded stacks for other tools"},
	{"profile -F 997 -C 0-3 --exclude-kernel --min-busy 30",
		"user code on four CPUs, while they are more than 30% busy"},
	{"profile -i 1s -p 1234", "one process and its new children, every second"},
	{"profile -g -- make -j4", "a command and all its child processes"}, {0}};

const struct attar_profiler profiler_profile = {
	.name = "profile",
	.group = "CPU",
	.summary = "where CPU time is spent: hottest functions and stacks, by sampling",
	.uses = ATTAR_USES_SAMPLING | ATTAR_USES_STACKS | ATTAR_USES_RINGS | ATTAR_GIVES_TREE |
		ATTAR_GIVES_TIMES,
	.needs = "perf events, whole system, hardware counters, kernel names",
	.self_size = sizeof(struct profile),
	.options = options,
	.examples = examples,
	.open = profile_open,
	.report = profile_report,
	.close = profile_close,
	.emits = profile_emits,
};
