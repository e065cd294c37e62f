/* SPDX-License-Identifier: MIT */
/*
 * hwstat, llcstat, tlbstat: counts of the hardware by CPU and their ratios, in tables that do not
 * change. Each profiler is a list of events and one of columns.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attar/builtin.h"
#include "lib/hardware.h"

enum { EVENTS_MAX = 4, TEXT_BYTES = 256 };

/* A count, or a ratio of counts. */
enum kind { COUNT, RATIO, PERCENT, REST, RUNNING }; /* REST: 100 % less PERCENT */

struct column {
	const char *name;
	enum kind kind;
	int part, whole; /* numbers of events */
	double factor;   /* of a RATIO */
};

/* Ends with columns[i].name NULL. */
struct table {
	const char *groups[EVENTS_MAX + 1]; /* of events; ends with NULL */
	const struct column *columns;
};

struct hwstat {
	bool exclude_host;

	const struct table *table;
};

static const struct column of_hwstat[] = {{"cycles", COUNT, 0}, {"instructions", COUNT, 1},
	{"IPC", RATIO, 1, 0, 1}, {"counted", RUNNING, 0}, {0}};
static const struct table hwstat = {{"{cycles,instructions}", NULL}, of_hwstat};

static const struct column of_llcstat[] = {{"loads", COUNT, 0}, {"load misses", COUNT, 1},
	{"load hits", REST, 1, 0}, {"stores", COUNT, 2}, {"store misses", COUNT, 3},
	{"store hits", REST, 3, 2}, {0}};
static const struct table llcstat = {
	{"{LLC-loads,LLC-load-misses}", "{LLC-stores,LLC-store-misses}", NULL}, of_llcstat};

/*
 * The L3 caches of AMD have a separate PMU; its events are described in AMD's manuals (PPR). Until
 * Zen 3 it adds a 16th of the cycles that misses take. Zen 3 wants all types of requests.
 */
#define AMD_L3 "amd_l3/event=0x04,umask=0xff/", "amd_l3/event=0x04,umask=0x01/"
static const struct column of_amd_l3[] = {
	{"references", COUNT, 0}, {"misses", COUNT, 1}, {"hits", REST, 1, 0}, {0}};
static const struct table amd_l3 = {{AMD_L3, NULL}, of_amd_l3};
static const struct column of_amd_zen[] = {{"references", COUNT, 0}, {"misses", COUNT, 1},
	{"hits", REST, 1, 0}, {"cycles per miss", RATIO, 2, 3, 16}, {0}};
static const struct table amd_zen2 = {
	{AMD_L3, "amd_l3/event=0x90/", "amd_l3/event=0x9a,umask=0x1f/", NULL}, of_amd_zen};
static const struct table amd_zen3 = {
	{AMD_L3, "amd_l3/event=0x90/", "amd_l3/event=0x9a,umask=0xff/", NULL}, of_amd_zen};

static const struct column of_tlbstat[] = {{"loads", COUNT, 0}, {"load misses", COUNT, 1},
	{"load miss rate", PERCENT, 1, 0}, {"stores", COUNT, 2}, {"store misses", COUNT, 3},
	{"store miss rate", PERCENT, 3, 2}, {0}};
static const struct table tlbstat = {
	{"{dTLB-loads,dTLB-load-misses}", "{dTLB-stores,dTLB-store-misses}", NULL}, of_tlbstat};

/* ---- report ---- */

/* NULL: the event was not counted. */
static const struct attar_value *value_of(
	const struct attar_run *run, const struct attar_count *counts, int event)
{
	const struct attar_run_counter *c = attar_run_get_counter(run, (size_t)event);
	const struct attar_value *value = &counts[event].sum;

	if (!c || c->refused || value->quality == ATTAR_QUALITY_NOT_COUNTED ||
		value->quality == ATTAR_QUALITY_ERROR)
		return NULL;
	return value;
}

/* part is at most whole, but their times of reading and scaling differ. */
static double ratio_of(const struct column *column, double part, double whole)
{
	double share = 100 * part / whole;

	switch (column->kind) {
	case RATIO:
		return column->factor * part / whole;
	case REST:
		return share < 100 ? 100 - share : 0;
	default:
		return share;
	}
}

static void add_cell(const struct attar_run *run, const struct column *column,
	struct attar_section *section, const struct attar_count *counts)
{
	const struct attar_value *part = value_of(run, counts, column->part), *whole;

	if (part && column->kind == COUNT) {
		attar_cell_u64(section, part->value);
		return;
	}
	if (part && column->kind == RUNNING && part->time_enabled) {
		attar_cell_double(
			section, 100 * (double)part->time_running / (double)part->time_enabled);
		return;
	}
	whole = column->kind == COUNT || column->kind == RUNNING
			? NULL
			: value_of(run, counts, column->whole);
	if (part && whole && whole->value)
		attar_cell_double(
			section, ratio_of(column, (double)part->value, (double)whole->value));
	else
		attar_cell_none(section);
}

static void add_cells(const struct attar_run *run, const struct hwstat *h,
	struct attar_section *section, const struct attar_count *counts)
{
	for (const struct column *c = h->table->columns; c->name; c++)
		add_cell(run, c, section, counts);
}

static void add_columns(const struct hwstat *h, struct attar_section *section)
{
	for (const struct column *c = h->table->columns; c->name; c++)
		attar_section_column(section, c->name,
			c->kind == COUNT || c->kind == RATIO ? ATTAR_UNIT_COUNT
							     : ATTAR_UNIT_PERCENT);
}

static int hwstat_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const struct hwstat *h = self;
	struct attar_section *total = attar_report_table(report, "total"),
			     *table = attar_report_table(report, "cpus");
	struct attar_count sums[EVENTS_MAX] = {0};
	const struct attar_count_row *rows;
	size_t n;
	int r = attar_run_count_rows(run, scope, &rows, &n);

	if (r < 0)
		return r;
	add_columns(h, total);
	attar_section_column(table, "cpu", ATTAR_UNIT_ID);
	add_columns(h, table);
	for (size_t k = 0; k < n; k++) {
		attar_section_row(table);
		attar_cell_i64(table, rows[k].number);
		add_cells(run, h, table, rows[k].counts);
		for (size_t i = 0; i < EVENTS_MAX && attar_run_get_counter(run, i); i++)
			attar_value_add(&sums[i].sum, &rows[k].counts[i].sum);
	}
	attar_section_row(total);
	add_cells(run, h, total, sums);
	return 0;
}

/* ---- life ---- */

static int count_table(struct attar_run *run, struct hwstat *h, const struct table *table)
{
	char text[TEXT_BYTES];
	int r = 0;

	h->table = table;
	for (size_t i = 0; r == 0 && table->groups[i]; i++) {
		snprintf(text, sizeof(text), "%s%s", table->groups[i], h->exclude_host ? ":G" : "");
		r = attar_run_count(run, text);
		if (r < 0 && i && !attar_run_is_live(run)) { /* a recording need not have all */
			attar_error_clear();
			return 0;
		}
	}
	return r;
}

static int open_table(struct attar_run *run, struct hwstat *h, const struct table *table)
{
	int r = hardware_require_pmu(run);

	if (r == 0)
		r = run_watch_cpus(run);
	if (r == 0)
		r = attar_run_count_by(run, ATTAR_COUNT_BY_CPU);
	return r == 0 ? count_table(run, h, table) : r;
}

static int hwstat_open(struct attar_run *run, void *self)
{
	return open_table(run, self, &hwstat);
}

/* Zen 4 and its successors have other events for the latency. */
static const struct table *amd_table(void)
{
	struct hardware_cpu cpu = hardware_get_cpu();

	if (cpu.vendor != HARDWARE_AMD || cpu.family < 0x17 || cpu.family > 0x19)
		return &amd_l3;
	if (cpu.family < 0x19)
		return &amd_zen2;
	return cpu.model < 0x10 || (cpu.model >= 0x20 && cpu.model < 0x60) ? &amd_zen3 : &amd_l3;
}

static int llcstat_open(struct attar_run *run, void *self)
{
	struct hwstat *h = self;
	int r;

	if (attar_run_is_live(run))
		return open_table(run, h, hardware_has("amd_l3") ? amd_table() : &llcstat);
	r = open_table(run, h, &amd_zen2);
	if (r < 0) /* the recording is of another CPU */
		attar_error_clear();
	return r < 0 ? open_table(run, h, &llcstat) : 0;
}

static int tlbstat_open(struct attar_run *run, void *self)
{
	return open_table(run, self, &tlbstat);
}

static const struct attar_option options[] = {
	ATTAR_FLAG(struct hwstat, exclude_host, 'G', "exclude-host",
		"count only while KVM guests run"),
	{0}};

#define EXAMPLES(name_, what_)                                                                     \
	static const struct attar_example examples_of_##name_[] = {                                \
		{#name_ " -i 1s", "all CPUs, each second"}, {#name_ " -C 0-3 -- make", what_},     \
		{0}};

EXAMPLES(hwstat, "four CPUs while a command runs")
EXAMPLES(llcstat, "the caches of four CPUs while a command runs")
EXAMPLES(tlbstat, "four CPUs while a command runs")

#define HARDWARE(name_, summary_)                                                                  \
	{                                                                                          \
		.name = #name_, .group = "Counting", .summary = (summary_),                        \
		.uses = ATTAR_USES_INPUT,                                                          \
		.needs = "perf events, whole system, hardware counters!",                          \
		.self_size = sizeof(struct hwstat), .options = options,                            \
		.examples = examples_of_##name_, .open = name_##_open, .report = hwstat_report,    \
	}

const struct attar_profiler profiler_hwstat =
	HARDWARE(hwstat, "cycles, instructions and IPC of each CPU");
const struct attar_profiler profiler_llcstat =
	HARDWARE(llcstat, "hits and misses of the last-level caches");
const struct attar_profiler profiler_tlbstat =
	HARDWARE(tlbstat, "hits and misses of each CPU's data TLB");
