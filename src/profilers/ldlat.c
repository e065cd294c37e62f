/* SPDX-License-Identifier: MIT */
/*
 * ldlat-loads, ldlat-stores: where loads find their data and stores put theirs, and how many cycles
 * they take. The hardware samples single accesses: PEBS of Intel, IBS of AMD.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/sample.h"
#include "lib/hardware.h"
#include "lib/keys.h"
#include "lib/task_by.h"

enum { SUM_TOTAL, SUMS };
enum { KEYS_MAX = 1 << 14, TEXT_BYTES = 128 };
enum { PEBS_PERIOD = 1000, IBS_PERIOD = 100000, IBS_UNIT = 16 };

struct key {
	uint64_t data_src;
	struct keys_thread instance; /* its number can be a CPU; -1: all */
};

struct ldlat {
	uint64_t ldlat, than, trigger;
	bool perins, exclude_host, exclude_guest;

	uint8_t op; /* PERF_MEM_OP_LOAD or PERF_MEM_OP_STORE */
	bool by_cpu;
	struct attar_keytable *table;
};

/* ---- samples ---- */

static uint64_t latency_of(const struct perf_event_attr *attr, const struct attar_sample *sample)
{
	if (attr->sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
		return attar_weight_decode(sample->weight).var1;
	return sample->weight;
}

static void line_columns(struct attar_section *lines)
{
	attar_run_event_columns(lines);
	attar_section_column(lines, "cycles", ATTAR_UNIT_COUNT);
	attar_section_main(lines);
	attar_section_column(lines, "address", ATTAR_UNIT_HEX);
	attar_section_column(lines, "physical", ATTAR_UNIT_HEX);
	attar_section_column(lines, "source", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
}

static int add_line(struct attar_run *run, const struct attar_event *ev, uint64_t latency)
{
	const struct attar_sample *sample = &ev->record->sample;
	bool in_kernel =
		(ev->record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	attar_location at = in_kernel ? attar_location_kernel(sample->ip)
				      : attar_thread_locate(ev->thread, sample->ip);
	struct attar_section *lines = attar_run_lines(run, "slow accesses", line_columns);
	char text[TEXT_BYTES];

	if (!lines)
		return -ENOMEM;
	attar_run_event_row(run, lines, ev, ev->time);
	attar_cell_u64(lines, latency);
	attar_cell_u64(lines, sample->addr);
	if (sample->phys_addr)
		attar_cell_u64(lines, sample->phys_addr);
	else
		attar_cell_none(lines);
	attar_data_src_text(sample->data_src, text, sizeof(text));
	attar_cell_text(lines, text);
	if (sample->ip)
		attar_row_stack(lines, attar_run_symbols(run), &at, 1);
	return 0;
}

/* IBS samples operations of all kinds, perf mem record loads and stores. */
static bool is_wanted(const struct ldlat *l, const struct attar_sample *sample, uint64_t latency)
{
	return attar_data_src_decode(sample->data_src).op & l->op && latency >= l->ldlat;
}

/* As an event of another profiler: what would be printed. */
static int ldlat_emits(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_sample *sample = &ev->record->sample;
	const struct ldlat *l = self;
	uint64_t latency = latency_of(attar_run_source_attr(run, ev->counter), sample);

	return is_wanted(l, sample, latency) && (!l->than || latency > l->than);
}

static int on_sample(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_sample *sample = &ev->record->sample;
	const struct ldlat *l = self;
	uint64_t latency = latency_of(attar_run_source_attr(run, ev->counter), sample);
	struct key key = {.data_src = sample->data_src, .instance.tid = -1};
	struct attar_keyrow *row;

	if (!is_wanted(l, sample, latency))
		return 0;
	if (l->perins && l->by_cpu)
		key.instance.tid = (int64_t)ev->cpu;
	else if (l->perins)
		key.instance = keys_make_thread(
			ev->thread, ev->thread->tid, ev->thread->comm, strlen(ev->thread->comm));
	row = attar_keytable_at(l->table, &key, sizeof(key));
	if (!row || attar_hist_add(&row->interval.hists[0], latency) < 0)
		return -ENOMEM;
	row->interval.sums[SUM_TOTAL] += latency;
	return l->than && latency > l->than && attar_run_wants(run, ATTAR_WANT_LINES)
		       ? add_line(run, ev, latency)
		       : 0;
}

/* ---- report ---- */

static void add_columns(const struct ldlat *l, struct attar_section *table)
{
	static const char *const cycles[] = {"total", "min", "avg", "p99", "max"};

	if (l->perins)
		attar_section_column(table, l->by_cpu ? "cpu" : "tid", ATTAR_UNIT_ID);
	if (l->perins && !l->by_cpu)
		attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(table, "source", ATTAR_UNIT_TEXT);
	attar_section_column(table, "samples", ATTAR_UNIT_COUNT);
	for (size_t i = 0; i < sizeof(cycles) / sizeof(cycles[0]); i++)
		attar_section_column(table, cycles[i], ATTAR_UNIT_COUNT);
}

static void add_row(const struct ldlat *l, struct attar_section *table,
	const struct attar_keyrow *row, const struct attar_hist *hist)
{
	const struct key *key = row->key;
	char text[TEXT_BYTES] = "[others]";

	attar_section_row(table);
	if (l->perins)
		attar_cell_i64(table, key ? task_by_id(key->instance.tid) : -1);
	if (l->perins && !l->by_cpu)
		attar_cell_text(table, key ? key->instance.comm : "");
	if (key)
		attar_data_src_text(key->data_src, text, sizeof(text));
	attar_cell_text(table, text);
	attar_cell_u64(table, hist->count);
	attar_cell_u64(table, attar_hist_sum(hist));
	attar_cell_u64(table, hist->min);
	attar_cell_double(table, attar_hist_mean(hist));
	attar_cell_u64(table, attar_hist_quantile(hist, 0.99));
	attar_cell_u64(table, hist->max);
}

static int ldlat_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const struct ldlat *l = self;
	struct attar_section *table = attar_report_table(report, "accesses");
	int r = attar_keytable_end_interval(l->table);
	size_t n = attar_keytable_keys(l->table);
	struct attar_keyrow **rows = malloc((n + 1) * sizeof(*rows));
	struct attar_hist all = {0};

	(void)run;
	if (r < 0 || !rows) {
		free(rows);
		return -ENOMEM;
	}
	add_columns(l, table);
	n = attar_keytable_top(l->table, scope, SUM_TOTAL, rows, n);
	if (attar_keyrow_sums(attar_keytable_others(l->table), scope)->hists[0].count)
		rows[n++] = attar_keytable_others(l->table);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct attar_hist *hist = &attar_keyrow_sums(rows[i], scope)->hists[0];

		add_row(l, table, rows[i], hist);
		r = attar_hist_merge(&all, hist);
	}
	if (r == 0)
		attar_report_hist(report, "cycles", ATTAR_UNIT_COUNT, &all);
	attar_hist_done(&all);
	free(rows);
	return r;
}

/* ---- life ---- */

/* The event of this machine as text, and the period. */
static int choose_event(const struct attar_run *run, const struct ldlat *l, char *text, size_t size,
	uint64_t *ret_period)
{
	const char *pmu = hardware_has("cpu_core") ? "cpu_core" : "cpu",
		   *name = l->op == PERF_MEM_OP_LOAD ? "mem-loads" : "mem-stores";
	char path[64], latency[32] = "";

	snprintf(path, sizeof(path), "%s/events/mem-loads-aux", pmu);
	if (l->op == PERF_MEM_OP_LOAD && hardware_has(path))
		return attar_fail(-EOPNOTSUPP,
			"%s cannot sample loads on this CPU: its event mem-loads needs the leader "
			"mem-loads-aux;" ATTAR_FIX
			"'perf mem record' writes a recording for --input",
			attar_run_profiler(run)->name);
	if (l->op == PERF_MEM_OP_LOAD)
		snprintf(latency, sizeof(latency), ",ldlat=%llu", (unsigned long long)l->ldlat);
	snprintf(path, sizeof(path), "%s/events/%s", pmu, name);
	if (hardware_has(path)) {
		*ret_period = l->trigger ? l->trigger : PEBS_PERIOD;
		snprintf(text, size, "%s/%s%s/P", pmu, name, latency);
		return 0;
	}
	if (!hardware_has("ibs_op"))
		return attar_fail(-EOPNOTSUPP,
			"%s needs an Intel CPU with PEBS (event %s) or an AMD CPU with IBS (PMU "
			"ibs_op), and this machine has neither: most virtual machines lack "
			"both;" ATTAR_FIX
			"'perf mem record' on such a machine writes a recording for --input",
			attar_run_profiler(run)->name, name);
	*ret_period = ((l->trigger ? l->trigger : IBS_PERIOD) + IBS_UNIT - 1) / IBS_UNIT * IBS_UNIT;
	snprintf(text, size, "ibs_op/cnt_ctl=1/");
	return 0;
}

static int add_event(struct attar_run *run, const struct ldlat *l)
{
	struct hardware_sampling sampling = {.fields = PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT |
						       PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR,
		.exclude_host = l->exclude_host,
		.exclude_guest = l->exclude_guest};
	char text[TEXT_BYTES];
	int r = choose_event(run, l, text, sizeof(text), &sampling.period);

	return r == 0 ? hardware_add_source(run, text, &sampling, on_sample) : r;
}

static int ldlat_open(struct attar_run *run, struct ldlat *l, uint8_t op)
{
	const struct attar_keytable_opts opts = {.size = sizeof(opts),
		.sums = SUMS,
		.hists = 1,
		.key_max = sizeof(struct key),
		.keys_max = KEYS_MAX};
	const struct attar_texts all = {0};
	int r;

	l->op = op;
	l->by_cpu = attar_run_target_kind(run) == ATTAR_TARGET_SYSTEM;
	r = attar_run_is_live(run) ? add_event(run, l)
				   : attar_run_event_list(run, &all, false, on_sample);
	return r == 0 ? attar_keytable_new(&opts, &l->table) : r;
}

static int ldlat_loads_open(struct attar_run *run, void *self)
{
	return ldlat_open(run, self, PERF_MEM_OP_LOAD);
}

static int ldlat_stores_open(struct attar_run *run, void *self)
{
	return ldlat_open(run, self, PERF_MEM_OP_STORE);
}

static void ldlat_close(void *self)
{
	struct ldlat *l = self;

	attar_keytable_free(l->table);
}

#define T struct ldlat
#define COMMON_OPTIONS(what_)                                                                      \
	ATTAR_COUNT(T, trigger, 'T', "trigger", "N",                                               \
		"sample every Nth " what_ " (Intel, default 1000) or operation (AMD, default "     \
		"100000)",                                                                         \
		ATTAR_MIN(1)),                                                                     \
		ATTAR_COUNT(T, than, 0, "than", "CYCLES",                                          \
			"print samples that take more cycles, with address and code"),             \
		ATTAR_FLAG(T, perins, 0, "perins",                                                 \
			"show each CPU separately, or each thread with -p, -t or a command"),      \
		ATTAR_FLAG(                                                                        \
			T, exclude_host, 'G', "exclude-host", "sample only while KVM guests run"), \
		ATTAR_FLAG(T, exclude_guest, 0, "exclude-guest",                                   \
			"do not sample while KVM guests run")

static void ldlat_defaults(void *self)
{
	struct ldlat *l = self;

	l->ldlat = 3;
}

static const struct attar_option options_of_loads[] = {
	ATTAR_COUNT(T, ldlat, 0, "ldlat", "CYCLES",
		"sample loads that take at least this many cycles (default 3)", ATTAR_MIN(1)),
	COMMON_OPTIONS("load"), {0}};
static const struct attar_option options_of_stores[] = {COMMON_OPTIONS("store"), {0}};

static const struct attar_example examples_of_loads[] = {
	{"ldlat-loads -C 0 -i 1s", "the data sources of a CPU's loads, each second"},
	{"ldlat-loads -p 1234 --ldlat 10 --than 100", "slow loads of a process"}, {0}};
static const struct attar_example examples_of_stores[] = {
	{"ldlat-stores -C 0 -i 1s", "stores of a CPU, each second"}, {0}};

const struct attar_profiler profiler_ldlat_loads = {
	.name = "ldlat-loads",
	.group = "Memory",
	.summary = "latency of sampled loads, by the cache or memory that served them",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, memory accesses!",
	.self_size = sizeof(struct ldlat),
	.options = options_of_loads,
	.examples = examples_of_loads,
	.defaults = ldlat_defaults,
	.open = ldlat_loads_open,
	.report = ldlat_report,
	.close = ldlat_close,
	.emits = ldlat_emits,
};

const struct attar_profiler profiler_ldlat_stores = {
	.name = "ldlat-stores",
	.group = "Memory",
	.summary = "sampled stores, by the cache or memory that they reached",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, memory accesses!",
	.self_size = sizeof(struct ldlat),
	.options = options_of_stores,
	.examples = examples_of_stores,
	.open = ldlat_stores_open,
	.report = ldlat_report,
	.close = ldlat_close,
	.emits = ldlat_emits,
};
