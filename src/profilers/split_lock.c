/* SPDX-License-Identifier: MIT */
/*
 * split-lock: atomic instructions on operands in two cache lines. The CPU locks the bus for them,
 * which stops all other CPUs for about a microsecond.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "attar/private/report.h"
#include "lib/hardware.h"

enum { SAMPLES, LOCKS, SUMS };
enum { DEPTH_MAX = 127, COMM_BYTES = 16, TEXT_BYTES = 512, TASKS_MAX = 1 << 14 };
enum { LINE = 64, LOCKS_PER_TURN = 1000, TURN_NS = 10000000 };

struct split_lock {
	const char *event;
	uint64_t trigger;
	bool test, exclude_host, graph, perins;
	bool takes_stacks; /* for -g, or for outputs that are made for trees */

	struct attar_keytable *tasks; /* by tid; the value is the name */
	struct attar_stacks *stacks;
	pid_t tester; /* 0: none */
};

/* ---- samples ---- */

static void columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "pid", ATTAR_UNIT_ID);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "cpu", ATTAR_UNIT_ID);
	attar_section_column(lines, "split locks", ATTAR_UNIT_COUNT);
	attar_section_main(lines);
}

static int add_line(struct attar_run *run, const struct attar_event *ev,
	const attar_location *locations, size_t depth)
{
	struct attar_section *lines = attar_run_lines(run, "split locks", columns);

	if (!lines)
		return -ENOMEM;
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_text(lines, ev->thread->comm);
	attar_cell_i64(lines, ev->thread->process ? ev->thread->process->pid : ev->thread->tid);
	attar_cell_i64(lines, ev->thread->tid);
	attar_cell_u64(lines, ev->cpu);
	attar_cell_u64(lines, ev->record->sample.period);
	attar_row_stack(lines, attar_run_symbols(run), locations, depth);
	return 0;
}

static int on_sample(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_sample *sample = &ev->record->sample;
	bool in_kernel =
		(ev->record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	const struct split_lock *s = self;
	attar_location locations[DEPTH_MAX];
	struct attar_keyrow *row;
	size_t depth = s->takes_stacks ? attar_event_stack(ev, locations, DEPTH_MAX) : 0;

	if (!depth && sample->ip) {
		locations[0] = in_kernel ? attar_location_kernel(sample->ip)
					 : attar_thread_locate(ev->thread, sample->ip);
		depth = 1;
	}
	row = attar_keytable_at_u64(s->tasks, (uint64_t)ev->thread->tid);
	if (!row || attar_stacks_add(s->stacks, ev->thread, locations, depth, sample->period) < 0)
		return -ENOMEM;
	row->interval.sums[SAMPLES]++;
	row->interval.sums[LOCKS] += sample->period;
	snprintf(row->value, COMM_BYTES, "%s", ev->thread->comm);
	return attar_run_wants(run, ATTAR_WANT_LINES)
		       ? add_line(run, ev, locations, s->graph ? depth : depth > 0)
		       : 0;
}

/* As events of another profiler: all samples. */
static int split_lock_emits(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return 1;
}

/* ---- report ---- */

/* The counts of CPUs; without --perins their sum. */
static int report_counts(struct attar_run *run, const struct split_lock *s,
	struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *table = attar_report_table(report, "counts");
	const struct attar_count_row *rows;
	struct attar_value sum = {0};
	size_t n;
	int r = attar_run_count_rows(run, scope, &rows, &n);

	if (r < 0)
		return r;
	if (s->perins)
		attar_section_column(table, "cpu", ATTAR_UNIT_ID);
	attar_section_column(table, "split locks", ATTAR_UNIT_COUNT);
	for (size_t i = 0; i < n; i++) {
		attar_value_add(&sum, &rows[i].counts[0].sum);
		if (!s->perins)
			continue;
		attar_section_row(table);
		attar_cell_i64(table, rows[i].number);
		attar_cell_u64(table, rows[i].counts[0].sum.value);
	}
	if (!s->perins) {
		attar_section_row(table);
		attar_cell_u64(table, sum.value);
	}
	return 0;
}

static void report_tasks(
	const struct split_lock *s, struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *table = attar_report_table(report, "tasks");
	struct attar_keyrow *row = NULL;

	attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(table, "tid", ATTAR_UNIT_ID);
	attar_section_column(table, "samples", ATTAR_UNIT_COUNT);
	attar_section_column(table, "split locks", ATTAR_UNIT_COUNT);
	while ((row = attar_keytable_next(s->tasks, row))) {
		const uint64_t *sums = attar_keyrow_sums(row, scope)->sums;

		if (!sums[SAMPLES])
			continue;
		attar_section_row(table);
		attar_cell_text(table, row->value);
		attar_cell_u64(table, row->number);
		attar_cell_u64(table, sums[SAMPLES]);
		attar_cell_u64(table, sums[LOCKS]);
	}
	section_sort(table, 3, true);
	attar_report_evicted(report, s->tasks, "tasks");
}

static int split_lock_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	static const struct attar_stacks_opts opts = {
		.size = sizeof(opts), .weight = "split locks"};
	const struct split_lock *s = self;
	int r = attar_keytable_end_interval(s->tasks);

	if (r == 0 && attar_run_get_counter(run, 0))
		r = report_counts(run, s, report, scope);
	report_tasks(s, report, scope);
	return r < 0 ? r : attar_run_stacks(run, report, s->stacks, scope, &opts);
}

/* ---- life ---- */

/*
 * SQ_MISC.SPLIT_LOCK, later SQ_MISC.BUS_LOCK, of Intel's manuals; LsLocks, BusLock of AMD's (PPR).
 * Models are Alder Lake, Sapphire Rapids and their successors.
 */
static const char *intel_event(unsigned model)
{
	static const uint8_t later[] = {0x8f, 0x97, 0x9a, 0xaa, 0xac, 0xad, 0xae, 0xb5, 0xb7, 0xba,
		0xbd, 0xbf, 0xc5, 0xc6, 0xcf};

	return model < 0x100 && memchr(later, (int)model, sizeof(later)) ? "event=0x2c,umask=0x10"
									 : "event=0xf4,umask=0x10";
}

static int choose_event(const struct attar_run *run, char *text, size_t size)
{
	const char *pmu = hardware_has("cpu_core") ? "cpu_core" : "cpu";
	struct hardware_cpu cpu = hardware_get_cpu();

	if (cpu.vendor == HARDWARE_OTHER)
		return attar_fail(-EOPNOTSUPP,
			"%s needs an Intel or AMD CPU: attar knows no split lock event for "
			"others;" ATTAR_FIX "set one with --event",
			attar_run_profiler(run)->name);
	snprintf(text, size, "%s/%s/", pmu,
		cpu.vendor == HARDWARE_AMD ? "event=0x25,umask=0x01" : intel_event(cpu.model));
	return hardware_require_pmu(run);
}

/* Counts the event on each CPU, and samples every Nth of them. */
static int add_event(struct attar_run *run, const struct split_lock *s)
{
	const struct hardware_sampling sampling = {.period = s->trigger,
		.fields = s->takes_stacks ? PERF_SAMPLE_CALLCHAIN : 0,
		.exclude_host = s->exclude_host};
	char text[TEXT_BYTES], counted[TEXT_BYTES + 8];
	int r = 0;

	if (s->event)
		snprintf(text, sizeof(text), "%s", s->event);
	else
		r = choose_event(run, text, sizeof(text));
	snprintf(counted, sizeof(counted), s->exclude_host ? "{%s}:G" : "%s", text);
	if (r == 0)
		r = hardware_add_source(run, text, &sampling, on_sample);
	if (r < 0 || run_emits(run))
		return r;
	r = attar_run_count_by(run, ATTAR_COUNT_BY_CPU);
	return r == 0 ? attar_run_count(run, counted) : r;
}

/* All events of the recording are split locks; it need not have counts. */
static int add_recorded(struct attar_run *run, const struct split_lock *s)
{
	const struct attar_texts all = {.at = (const char **)&s->event, .n = s->event ? 1 : 0};
	int r = attar_run_event_list(run, &all, s->takes_stacks, on_sample);

	if (r < 0 || run_emits(run))
		return r;
	r = attar_run_count_by(run, ATTAR_COUNT_BY_CPU);
	return r == 0 && s->event ? attar_run_count(run, s->event) : r;
}

#if defined(__x86_64__)
/* In a child process, since the kernel may be configured to kill it for this. */
static void lock_for_ever(void)
{
	static _Alignas(LINE) char lines[2 * LINE];
	const struct timespec pause = {.tv_nsec = TURN_NS};

	for (;;) {
		for (int i = 0; i < LOCKS_PER_TURN; i++)
			__asm__ volatile("lock addl $1, %0" : "+m"(lines[LINE - 2]) : : "memory");
		nanosleep(&pause, NULL);
	}
}

static int start_tester(struct split_lock *s)
{
	s->tester = fork();
	if (s->tester < 0)
		return attar_fail(-errno, "--test: fork(2): %s", strerror(errno));
	if (s->tester == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "split-lock-test");
		lock_for_ever();
	}
	return 0;
}
#else
static int start_tester(struct split_lock *s)
{
	return attar_fail(
		-EOPNOTSUPP, "--test: this CPU has no split locks" ATTAR_FIX "run it on x86");
}
#endif

static int split_lock_open(struct attar_run *run, void *self)
{
	const struct attar_keytable_opts opts = {.size = sizeof(opts),
		.sums = SUMS,
		.value_size = COMM_BYTES,
		.keys_max = TASKS_MAX,
		.rank = LOCKS};
	struct split_lock *s = self;
	int r;

	s->takes_stacks = s->graph || attar_run_wants(run, ATTAR_WANT_TREE);
	r = attar_run_is_live(run) ? add_event(run, s) : add_recorded(run, s);
	if (r == 0)
		r = attar_keytable_new(&opts, &s->tasks);
	if (r == 0)
		r = attar_stacks_new(attar_run_symbols(run), &s->stacks);
	return r == 0 && s->test ? start_tester(s) : r;
}

static void split_lock_close(void *self)
{
	struct split_lock *s = self;

	if (s->tester > 0) {
		kill(s->tester, SIGKILL);
		waitpid(s->tester, NULL, 0);
	}
	attar_keytable_free(s->tasks);
	attar_stacks_free(s->stacks);
}

static void split_lock_defaults(void *self)
{
	struct split_lock *s = self;

	s->trigger = 1000;
}

#define T struct split_lock

static const struct attar_option options[] = {
	ATTAR_COUNT(T, trigger, 'T', "trigger", "N", "sample every Nth split lock (default 1000)",
		ATTAR_MIN(1)),
	ATTAR_FLAG(T, test, 0, "test",
		"also cause about 100,000 split locks per second, which slows down the machine"),
	ATTAR_FLAG(T, exclude_host, 'G', "exclude-host", "only split locks of KVM guests"),
	ATTAR_FLAG(T, graph, 'g', "call-graph", "show stacks"),
	ATTAR_FLAG(T, perins, 0, "perins", "show the counts of each CPU"),
	ATTAR_TEXT(T, event, 'e', "event", "EVENT",
		"the split lock event, for CPUs that attar does not know", ATTAR_COMPLETE("event")),
	{0}};

static const struct attar_example examples[] = {
	{"split-lock -i 1s", "the number of split locks, and the code that causes them"},
	{"split-lock -T 1000 -G -i 1s", "split locks of virtual machines"},
	{"split-lock --test -d 5s", "test the detection on this machine"}, {0}};

const struct attar_profiler profiler_split_lock = {
	.name = "split-lock",
	.group = "CPU",
	.summary = "atomic instructions that span two cache lines, which stall all CPUs",
	.uses = ATTAR_USES_STACKS | ATTAR_USES_RINGS | ATTAR_GIVES_TREE,
	.needs = "perf events, whole system, hardware counters!",
	.self_size = sizeof(struct split_lock),
	.options = options,
	.examples = examples,
	.defaults = split_lock_defaults,
	.open = split_lock_open,
	.report = split_lock_report,
	.close = split_lock_close,
	.emits = split_lock_emits,
};
