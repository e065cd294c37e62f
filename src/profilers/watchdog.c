/* SPDX-License-Identifier: MIT */
/*
 * watchdog: predicts lockups of CPUs before the kernel detects them. Soft: the kernel runs on a CPU
 * without switching tasks. Hard: the CPU does not even take the interrupts of a timer.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attar/run.h"

enum { CPUS_MAX = 8192, DEPTH_MAX = 127, DEFAULT_FREQ = 10 };
enum { JUDGE_NS = 30000000 }; /* idle times in /proc are exact to 10 ms */
enum { KERNEL_SECONDS = 10 }; /* kernel.watchdog_thresh, unless sysctl says otherwise */

struct cpu {
	uint64_t sampled; /* when the timer fired last, ns; 0: never, or samples were lost */
	uint64_t alive;   /* when the CPU was last known to switch tasks or run user code */
	uint64_t quiet,
		idle; /* since when it has had no timer, and its idle time then, ns; 0: has */
	uint64_t soft, hard; /* for how long a lockup was shown, ns; 0: it was not */
	uint64_t longest_soft, longest_hard; /* of the run */
};

struct watchdog {
	uint64_t freq, than;
	bool graph;

	uint64_t period, next;             /* ns; when all CPUs are checked next */
	uint64_t soft_limit, hard_limit;   /* of this program, ns */
	uint64_t soft_kernel, hard_kernel; /* of the kernel, ns */
	uint32_t n;                        /* 1 + the highest CPU */
	bool has_idle_gaps;                /* timers of an idle CPU were not delivered */
	struct cpu cpus[CPUS_MAX];
};

static void columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "lockup", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "cpu", ATTAR_UNIT_ID);
	attar_section_main(lines);
	attar_section_column(lines, "since", ATTAR_UNIT_NS);
	attar_section_column(lines, "kernel reports in", ATTAR_UNIT_NS);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
}

/* ev: a sample of the CPU; NULL: it does not give any. */
static int add_line(struct attar_run *run, uint64_t time, const char *kind, uint32_t cpu,
	uint64_t stuck, uint64_t limit, const struct attar_event *ev)
{
	struct attar_section *lines = attar_run_wants(run, ATTAR_WANT_LINES)
					      ? attar_run_lines(run, "lockups", columns)
					      : NULL;
	attar_location locations[DEPTH_MAX];

	if (!attar_run_wants(run, ATTAR_WANT_LINES))
		return 0;
	if (!lines)
		return -ENOMEM;
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, time));
	attar_cell_text(lines, kind);
	attar_cell_u64(lines, cpu);
	attar_cell_u64(lines, stuck);
	attar_cell_u64(lines, limit > stuck ? limit - stuck : 0);
	if (!ev)
		return 0;
	attar_cell_text(lines, ev->thread->comm);
	attar_cell_i64(lines, ev->thread->tid);
	attar_row_stack(lines, attar_run_symbols(run), locations,
		attar_event_stack(ev, locations, DEPTH_MAX));
	return 0;
}

/* Shown when the limit is exceeded, and again whenever the time has doubled. */
static bool is_due(uint64_t stuck, uint64_t limit, uint64_t *shown)
{
	if (stuck <= limit || (*shown && stuck < 2 * *shown))
		return false;
	*shown = stuck;
	return true;
}

static bool is_in_kernel(const struct attar_event *ev)
{
	return (ev->record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
}

/* Whether a soft lockup of the CPU is to be shown, and for how long it has been stuck. */
static bool is_soft(struct watchdog *w, const struct attar_event *ev, uint64_t *ret_stuck)
{
	struct cpu *cpu = &w->cpus[ev->cpu];

	if (!cpu->alive || ev->counts[0] || !ev->thread->tid || !is_in_kernel(ev)) {
		cpu->alive = ev->time;
		cpu->soft = 0;
	}
	*ret_stuck = ev->time - cpu->alive;
	if (*ret_stuck > cpu->longest_soft)
		cpu->longest_soft = *ret_stuck;
	return is_due(*ret_stuck, w->soft_limit, &cpu->soft);
}

static int check_soft(struct attar_run *run, struct watchdog *w, const struct attar_event *ev)
{
	uint64_t stuck;

	if (!is_soft(w, ev, &stuck))
		return 0;
	return add_line(run, ev->time, "soft", ev->cpu, stuck, w->soft_kernel, ev);
}

/* As an event of another profiler. A CPU with a hard lockup has no samples. */
static int watchdog_emits(struct attar_run *run, void *self, const struct attar_event *ev)
{
	uint64_t stuck;

	return ev->cpu < CPUS_MAX && is_soft(self, ev, &stuck);
}

/* Timers of a CPU that goes offline do not fire either. */
static bool is_online(uint32_t cpu)
{
	char path[64];
	FILE *file;
	int c;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	file = fopen(path, "re");
	c = file ? getc(file) : '1'; /* the boot CPU has no such file */
	if (file)
		fclose(file);
	return c != '0';
}

/* For how long the CPU has been idle, ns; 0: unknown. */
static uint64_t idle_time(uint32_t cpu)
{
	FILE *file = fopen("/proc/stat", "re");
	unsigned long long idle, waits;
	unsigned number;
	char line[512];
	uint64_t ticks = 0;

	while (file && !ticks && fgets(line, sizeof(line), file))
		if (sscanf(line, "cpu%u %*u %*u %*u %llu %llu", &number, &idle, &waits) == 3 &&
			number == cpu)
			ticks = idle + waits;
	if (file)
		fclose(file);
	return ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

enum state { ALIVE, STUCK, UNKNOWN };

/*
 * Of a CPU without timers for longer than two periods. Some kernels do not deliver the samples of
 * an idle task.
 */
static enum state state_of(struct watchdog *w, struct cpu *cpu, uint32_t number, uint64_t now)
{
	uint64_t idle = idle_time(number);

	if (!cpu->quiet) {
		cpu->quiet = now;
		cpu->idle = idle;
	}
	if (now - cpu->quiet < JUDGE_NS)
		return UNKNOWN;
	if (idle - cpu->idle < (now - cpu->quiet) / 2)
		return STUCK;
	w->has_idle_gaps = true;
	return ALIVE;
}

/* A CPU whose timer has fired, or that is idle. */
static void set_alive(struct cpu *cpu, uint64_t now)
{
	cpu->sampled = now;
	cpu->hard = cpu->quiet = 0;
}

/* The state of a CPU without timers since `stuck`, ns. */
static int check_quiet(
	struct attar_run *run, struct watchdog *w, uint32_t number, uint64_t now, uint64_t stuck)
{
	struct cpu *cpu = &w->cpus[number];
	enum state state = attar_run_is_live(run) && stuck > 2 * w->period
				   ? state_of(w, cpu, number, now)
				   : STUCK;

	if (state == ALIVE)
		set_alive(cpu, now);
	if (state != STUCK)
		return 0;
	if (stuck > cpu->longest_hard)
		cpu->longest_hard = stuck;
	if (!is_due(stuck, w->hard_limit, &cpu->hard) || !is_online(number))
		return 0;
	return add_line(run, now, "hard", number, stuck, w->hard_kernel, NULL);
}

/* The CPUs whose timers have not fired for long, seen from another CPU. */
static int check_hard(struct attar_run *run, struct watchdog *w, uint64_t now)
{
	int r = 0;

	if (now < w->next)
		return 0;
	w->next = now + w->period;
	for (uint32_t i = 0; r == 0 && i < w->n; i++)
		if (w->cpus[i].sampled && now >= w->cpus[i].sampled)
			r = check_quiet(run, w, i, now, now - w->cpus[i].sampled);
	return r;
}

static int on_timer(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct watchdog *w = self;
	int r = check_hard(run, w, ev->time);

	if (r < 0 || ev->cpu >= CPUS_MAX)
		return r;
	set_alive(&w->cpus[ev->cpu], ev->time);
	if (ev->cpu >= w->n)
		w->n = ev->cpu + 1;
	return check_soft(run, w, ev);
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct watchdog *w = self;

	if (ev->cpu < CPUS_MAX)
		w->cpus[ev->cpu].sampled = w->cpus[ev->cpu].alive = 0;
	return 0;
}

static int watchdog_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct watchdog *w = self;
	struct attar_section *table = attar_report_table(report, "cpus");

	attar_section_column(table, "cpu", ATTAR_UNIT_ID);
	attar_section_column(table, "longest in kernel", ATTAR_UNIT_NS);
	attar_section_column(table, "longest without timer", ATTAR_UNIT_NS);
	for (uint32_t i = 0; i < w->n; i++) {
		attar_section_row(table);
		attar_cell_u64(table, i);
		attar_cell_u64(table, w->cpus[i].longest_soft);
		attar_cell_u64(table, w->cpus[i].longest_hard);
	}
	if (w->has_idle_gaps)
		attar_report_remark(report, "timers of idle CPUs were not delivered: times without "
					    "a timer in which the "
					    "CPU was idle are left out");
	return 0;
}

/* ---- life ---- */

/* The limit of the kernel for hard lockups; twice as much is that for soft ones. */
static uint64_t kernel_limit(void)
{
	FILE *file = fopen("/proc/sys/kernel/watchdog_thresh", "re");
	unsigned seconds = 0;

	if (file) {
		if (fscanf(file, "%u", &seconds) != 1)
			seconds = 0;
		fclose(file);
	}
	return (seconds ? seconds : KERNEL_SECONDS) * UINT64_C(1000000000);
}

static int watchdog_open(struct attar_run *run, void *self)
{
	struct watchdog *w = self;
	struct attar_timer timer = {.events = "context-switches", .on_event = on_timer};

	w->period = 1000000000 / (w->freq ? w->freq : DEFAULT_FREQ);
	w->hard_kernel = kernel_limit();
	w->soft_kernel = 2 * w->hard_kernel;
	w->hard_limit = w->than ? w->than : w->hard_kernel / 2;
	w->soft_limit = w->than ? w->than : w->soft_kernel / 2;
	if (w->hard_limit < 2 * w->period)
		return attar_fail(-EINVAL,
			"--than is shorter than two periods of the timer" ATTAR_FIX
			"use a higher --freq");
	timer.period = w->period;
	timer.stacks = w->graph;
	return attar_run_timer(run, &timer);
}

static const struct attar_option options[] = {
	ATTAR_COUNT(struct watchdog, freq, 'F', "freq", "HZ",
		"check each CPU this many times per second (default 10)", .min = 1, .max = 10000),
	ATTAR_TIME(struct watchdog, than, 0, "than", "TIME",
		"report CPUs that are stuck longer than this: nanoseconds, or with a unit (default "
		"half "
		"of the kernel's limits)",
		.bare = 1),
	ATTAR_FLAG(struct watchdog, graph, 'g', "call-graph", "show the stacks of soft lockups"),
	{0}};

static const struct attar_example examples[] = {
	{"watchdog -F 1 -g", "CPUs that the kernel is about to report as locked up"},
	{"watchdog --than 500ms -g", "kernel code that keeps a CPU for more than half a second"},
	{0}};

const struct attar_profiler profiler_watchdog = {
	.name = "watchdog",
	.group = "Interrupts and timers",
	.summary = "report CPUs that are about to lock up, before the kernel does",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system!",
	.self_size = sizeof(struct watchdog),
	.options = options,
	.examples = examples,
	.open = watchdog_open,
	.lost = on_lost,
	.report = watchdog_report,
	.emits = watchdog_emits,
};
