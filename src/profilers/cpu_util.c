/* SPDX-License-Identifier: MIT */
/*
 * cpu-util: the share of time that each CPU spends in each mode, from /proc/stat, and its cycles
 * where there is a PMU. The kernel accounts the modes itself: no event is needed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "lib/hardware.h"

/* As in /proc/stat: user and nice include guest and guest_nice. Units: ticks. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, GUEST, GUEST_NICE, TIMES };
/* Values of the "total" row and rows of CPUs. */
enum { IN_USER, IN_SYSTEM, IN_IRQ, IN_SOFTIRQ, IN_GUEST, IN_STEAL, IN_IOWAIT, IN_IDLE, MODES };

static const char *const names[MODES] = {
	"user", "system", "irq", "softirq", "guest", "steal", "iowait", "idle"};

enum { CPUS_MAX = 8192 };

struct times {
	uint64_t at[TIMES];
	bool is_online;
};

struct cpu_util {
	bool counts_cycles, is_started;
	size_t n; /* 1 + the highest CPU */
	struct times start[CPUS_MAX], last[CPUS_MAX], now[CPUS_MAX];
	struct times total; /* sums of a report */
};

/* ---- /proc/stat ---- */

/* "cpuN user nice system ..."; old kernels have fewer values. Other lines are ignored. */
static void take_line(struct cpu_util *u, const char *line)
{
	unsigned cpu;
	int used, step;

	if (sscanf(line, "cpu%u%n", &cpu, &used) != 1 || cpu >= CPUS_MAX)
		return;
	u->now[cpu] = (struct times){.is_online = true};
	for (int i = 0; i < TIMES; i++, used += step) {
		unsigned long long value;

		if (sscanf(line + used, "%llu%n", &value, &step) != 1)
			break;
		u->now[cpu].at[i] = value;
	}
	if (cpu >= u->n)
		u->n = cpu + 1;
}

static int read_times(struct cpu_util *u)
{
	FILE *file = fopen("/proc/stat", "re");
	char *line = NULL;
	size_t size = 0;

	if (!file)
		return attar_fail(-errno, "/proc/stat: %s", strerror(errno));
	for (size_t cpu = 0; cpu < u->n; cpu++)
		u->now[cpu].is_online = false;
	while (getline(&line, &size, file) > 0)
		take_line(u, line);
	free(line);
	fclose(file);
	return u->n ? 0 : attar_fail(-EOPNOTSUPP, "/proc/stat contains no CPU times");
}

/* Counters of idle CPUs can go back a little when the kernel corrects them. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* False: the CPU was offline at the start or at the end. */
static bool subtract(const struct times *now, const struct times *before, uint64_t *ret_modes)
{
	uint64_t d[TIMES];

	if (!now->is_online || !before->is_online)
		return false;
	for (int i = 0; i < TIMES; i++)
		d[i] = since(now->at[i], before->at[i]);
	ret_modes[IN_USER] = since(d[USER], d[GUEST]) + since(d[NICE], d[GUEST_NICE]);
	ret_modes[IN_SYSTEM] = d[SYSTEM];
	ret_modes[IN_IRQ] = d[IRQ];
	ret_modes[IN_SOFTIRQ] = d[SOFTIRQ];
	ret_modes[IN_GUEST] = d[GUEST] + d[GUEST_NICE];
	ret_modes[IN_STEAL] = d[STEAL];
	ret_modes[IN_IOWAIT] = d[IOWAIT];
	ret_modes[IN_IDLE] = d[IDLE];
	return true;
}

/* ---- reporting ---- */

static void columns(const struct cpu_util *u, struct attar_section *table)
{
	for (int i = 0; i < MODES; i++)
		attar_section_column(table, names[i], ATTAR_UNIT_PERCENT);
	attar_section_column(table, "time", ATTAR_UNIT_NS);
	if (u->counts_cycles)
		attar_section_column(table, "cycles", ATTAR_UNIT_COUNT);
}

static void add_cells(struct attar_section *table, const uint64_t *modes)
{
	uint64_t all = 0;

	for (int i = 0; i < MODES; i++)
		all += modes[i];
	for (int i = 0; i < MODES; i++) {
		if (all)
			attar_cell_double(table, 100 * (double)modes[i] / (double)all);
		else
			attar_cell_none(table);
	}
	attar_cell_u64(table, all * 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* The cycles of a CPU; -1: of all. False: they were not counted. */
static bool cycles_of(const struct attar_count_row *rows, size_t n, int cpu, uint64_t *ret_cycles)
{
	enum { CYCLES = 1 }; /* as in count_cycles() */
	uint64_t sum = 0;
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		const struct attar_value *value = &rows[i].counts[CYCLES].sum;

		if ((cpu >= 0 && rows[i].number != cpu) || !value->time_running)
			continue;
		sum += value->value;
		found = true;
	}
	*ret_cycles = sum;
	return found;
}

static void add_cycles(
	struct attar_section *table, const struct attar_count_row *rows, size_t n, int cpu)
{
	uint64_t cycles;

	if (!rows)
		return;
	if (cycles_of(rows, n, cpu, &cycles))
		attar_cell_u64(table, cycles);
	else
		attar_cell_none(table);
}

static int cpu_util_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct cpu_util *u = self;
	const struct times *before = scope == ATTAR_SCOPE_WHOLE ? u->start : u->last;
	struct attar_section *total = attar_report_table(report, "total"),
			     *table = attar_report_table(report, "cpus");
	const struct attar_count_row *rows = NULL;
	uint64_t sums[MODES] = {0}, modes[MODES];
	size_t n = 0;
	int r = attar_run_ended(run) ? 0 : read_times(u);

	if (r == 0 && u->counts_cycles)
		r = attar_run_count_rows(run, scope, &rows, &n);
	columns(u, total);
	attar_section_column(table, "cpu", ATTAR_UNIT_ID);
	columns(u, table);
	for (size_t cpu = 0; r >= 0 && cpu < u->n; cpu++) {
		r = attar_run_is_cpu_selected(run, (int)cpu);
		if (r <= 0 || !subtract(&u->now[cpu], &before[cpu], modes))
			continue;
		for (int i = 0; i < MODES; i++)
			sums[i] += modes[i];
		attar_section_row(table);
		attar_cell_u64(table, cpu);
		add_cells(table, modes);
		add_cycles(table, rows, n, (int)cpu);
	}
	attar_section_row(total);
	add_cells(total, sums);
	add_cycles(total, rows, n, -1);
	memcpy(u->last, u->now, sizeof(u->last));
	return r < 0 ? r : 0;
}

/* ---- life ---- */

static int cpu_util_ended(struct attar_run *run, void *self)
{
	return read_times(self);
}

/* An event that every machine has comes first: a run cannot count refused events only. */
static int count_cycles(struct attar_run *run)
{
	int r = attar_run_count_by(run, ATTAR_COUNT_BY_CPU);

	return r == 0 ? attar_run_count(run, "cpu-clock,cycles") : r;
}

static int cpu_util_open(struct attar_run *run, void *self)
{
	struct cpu_util *u = self;
	int r = run_watch_cpus(run);

	if (r == 0)
		r = attar_run_is_cpu_selected(run, 0); /* checks the list */
	u->counts_cycles = hardware_has_pmu();
	if (r >= 0)
		r = u->counts_cycles ? count_cycles(run) : 0;
	return r < 0 ? r : read_times(u);
}

static int cpu_util_started(struct attar_run *run, void *self)
{
	struct cpu_util *u = self;
	int r = u->is_started ? 0 : read_times(u);

	if (r == 0 && !u->is_started) {
		memcpy(u->start, u->now, sizeof(u->start));
		memcpy(u->last, u->now, sizeof(u->last));
	}
	u->is_started = true;
	return r;
}

static const struct attar_option options[] = {{0}};

static const struct attar_example examples[] = {
	{"cpu-util -i 1s", "what each CPU does, each second"},
	{"cpu-util -C 0-3 -d 10s", "these CPUs, for ten seconds"},
	{"cpu-util -- make", "all CPUs while a command runs"}, {0}};

const struct attar_profiler profiler_cpu_util = {
	.name = "cpu-util",
	.group = "CPU",
	.summary = "time that each CPU spends in user code, system, interrupts, guests and idle",
	.self_size = sizeof(struct cpu_util),
	.options = options,
	.examples = examples,
	.open = cpu_util_open,
	.started = cpu_util_started,
	.ended = cpu_util_ended,
	.report = cpu_util_report,
};
