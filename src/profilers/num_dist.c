/* SPDX-License-Identifier: MIT */
/* num-dist: the distribution of a number, num=EXPR, that is computed for each event. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/keytable.h"
#include "attar/private/expr.h"
#include "attar/run.h"
#include "lib/by_source.h"
#include "lib/counted_event.h"
#include "lib/heatmap.h"
#include "lib/sample_weight.h"

enum { SUM_THAN, SUMS, NAME_BYTES = 64, KEYS_MAX = 65536, DEPTH_MAX = 512 };

struct event {
	const char *name;
	char *own_name;  /* that outlives the source; NULL: it has one */
	uint64_t number; /* in the order of -e */
	struct attar_expr *num;
	bool is_signed;
	bool stacks;
};

/* The key of a row. */
struct key {
	uint64_t event;
	uint64_t instance;  /* with --perins: the CPU, or the serial of the thread */
	uint64_t comm_hash; /* of a thread: each of its names has a row */
};

/* The block of a row with --perins. */
struct label {
	int64_t id; /* of the CPU or thread */
	char comm[NAME_BYTES];
};

struct num_dist {
	struct attar_texts texts;
	uint64_t than;
	bool perins, graph;
	const char *heatmap_path;

	struct by_source events;
	bool by_thread; /* instances are threads */
	bool has_stacks;
	uint64_t negative; /* numbers below 0 */
	bool is_beyond;    /* a total is, of the report's rows */
	struct attar_keytable *table;
	struct attar_stacks *stacks;
	struct heatmap *heatmap;
};

/* ---- events ---- */

static int num_dist_learn(struct attar_run *run, void *self, uint32_t source, void *event)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, source);
	const struct attar_event_option *num = spec ? attar_spec_get_option(spec, "num") : NULL;
	const struct attar_expr_opts opts = {
		.size = sizeof(opts), .flags = ATTAR_EXPR_CONDITION, .what = "num"};
	struct num_dist *d = self;
	struct event *e = event;
	int r;

	e->name = attar_run_source_name(run, source);
	if (!num)
		return attar_fail(-EINVAL,
			"'%s' has no attribute num=EXPRESSION, the number to count" ATTAR_FIX
			"%s//num=FIELD/",
			e->name, e->name);
	r = attar_run_expr(run, source, num->value, &opts, &e->num);
	if (r < 0)
		return r;
	e->is_signed = attar_expr_get_column(e->num, 0)->is_signed;
	e->stacks = d->graph || spec->stack;
	e->number = d->events.n - 1;
	d->has_stacks |= e->stacks;
	return 0;
}

static void forget(void *event)
{
	struct event *e = event;

	attar_expr_free(e->num);
	free(e->own_name);
}

static struct attar_keyrow *find_row(
	struct num_dist *d, const struct event *e, const struct attar_event *ev)
{
	struct key key = {.event = e->number};
	struct attar_keyrow *row;
	struct label *label;

	if (d->perins)
		key.instance = d->by_thread ? ev->thread->serial : ev->cpu;
	if (d->perins && d->by_thread)
		key.comm_hash = ev->thread->comm_hash;
	row = attar_keytable_at(d->table, &key, sizeof(key));
	if (!row || !d->perins)
		return row;
	label = row->value;
	label->id = d->by_thread ? ev->thread->tid : (int64_t)ev->cpu;
	if (d->by_thread && !*label->comm)
		snprintf(label->comm, NAME_BYTES, "%s", ev->thread->comm);
	return row;
}

static int on_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	attar_location locations[DEPTH_MAX];
	struct attar_expr_record record;
	struct num_dist *d = self;
	struct attar_keyrow *row;
	struct event *e;
	uint64_t number;
	bool beyond;
	int r = by_source_get(&d->events, run, self, ev->counter, &e);

	if (r < 0)
		return r;
	attar_event_get_expr_record(ev, &record);
	number = attar_expr_number(e->num, &record);
	if (e->is_signed && (int64_t)number < 0) {
		d->negative++;
		return 0;
	}
	row = find_row(d, e, ev);
	if (!row)
		return -ENOMEM;
	beyond = number > d->than;
	row->interval.sums[SUM_THAN] += beyond;
	r = attar_hist_add(&row->interval.hists[0], number);
	if (r == 0 && d->heatmap)
		r = heatmap_add(d->heatmap, e->name, NULL, ev->time, number);
	if (r == 0 && e->stacks && (beyond || !d->than))
		r = attar_stacks_add(d->stacks, ev->thread, locations,
			attar_event_stack(ev, locations, DEPTH_MAX), 1);
	return r;
}

/* ---- counting in the kernel ---- */

/* What of the options needs the events themselves; NULL: nothing. */
static const char *single_option(const struct num_dist *d)
{
	return d->perins         ? "--perins"
	       : d->heatmap_path ? "--heatmap"
	       : d->graph        ? "--call-graph"
				 : NULL;
}

/* Of one event with a field as its number, the program keeps the distribution. */
static int count_in_kernel(struct attar_run *run, struct num_dist *d)
{
	struct event *e = by_source_at(&d->events, 0);
	const struct attar_event_spec *spec = attar_run_source_spec(run, 0);
	struct counting_field field;
	int r;

	if (attar_run_sources(run) != 1 || d->events.n != 1 || e->stacks != d->graph ||
		!counted_event_has(spec, "num", expr_get_field(e->num), &field))
		return 0;
	field.than = d->than;
	e->own_name = strdup(e->name);
	if (!e->own_name)
		return -ENOMEM;
	e->name = e->own_name;
	r = run_count_in_kernel(run,
		&(struct counting_what){.kind = COUNTING_VALUES, .field = &field},
		single_option(d));
	return r < 0 ? r : 0;
}

static int add_counted(void *ctx, const struct counting_row *counted)
{
	struct num_dist *d = ctx;
	const struct key key = {0};
	struct attar_keyrow *row;

	if (counted->number == COUNTING_OF_NEGATIVE) {
		d->negative += counted->errors;
		return 0;
	}
	row = attar_keytable_at(d->table, &key, sizeof(key));
	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_THAN] += counted->errors;
	return attar_hist_merge(&row->interval.hists[0], counted->times);
}

/* ---- reports ---- */

static void add_columns(const struct num_dist *d, struct attar_section *table)
{
	if (d->perins)
		attar_section_column(table, d->by_thread ? "tid" : "cpu", ATTAR_UNIT_ID);
	if (d->perins && d->by_thread)
		attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(table, "event", ATTAR_UNIT_TEXT);
	attar_section_hist_columns(table, ATTAR_UNIT_COUNT);
	if (d->than)
		attar_section_column(table, "than", ATTAR_UNIT_COUNT);
}

static void add_row(struct num_dist *d, struct attar_section *table, const struct attar_keyrow *row,
	enum attar_scope scope)
{
	const struct attar_keysums *sums = attar_keyrow_sums(row, scope);
	const struct label *label = row->value;
	struct key key;

	memcpy(&key, row->key, sizeof(key));
	d->is_beyond |= sums->hists[0].sum_high > 0;
	attar_section_row(table);
	if (d->perins)
		attar_cell_i64(table, label->id);
	if (d->perins && d->by_thread)
		attar_cell_text(table, label->comm);
	attar_cell_text(
		table, ((const struct event *)by_source_at(&d->events, (uint32_t)key.event))->name);
	attar_cell_hist(table, &sums->hists[0]);
	if (d->than)
		attar_cell_u64(table, sums->sums[SUM_THAN]);
}

/* A histogram for each event. */
static void add_histograms(
	const struct num_dist *d, struct attar_report *report, enum attar_scope scope)
{
	struct key key = {0};
	const struct attar_keyrow *row;
	const struct event *e;

	for (; (e = by_source_at(&d->events, (uint32_t)key.event)); key.event++) {
		row = attar_keytable_find(d->table, &key, sizeof(key));
		if (row)
			attar_report_hist(report, e->name, ATTAR_UNIT_COUNT,
				&attar_keyrow_sums(row, scope)->hists[0]);
	}
}

static void add_remarks(
	const struct attar_run *run, const struct num_dist *d, struct attar_report *report)
{
	struct attar_expr_faults faults;
	uint64_t absent = 0, by_zero = 0;
	const struct event *e;

	sample_events_remark_few(run, report);
	attar_report_evicted(report, d->table, d->by_thread ? "threads" : "CPUs");
	if (d->negative)
		attar_report_remark(report, "%" PRIu64 " negative number%s not counted",
			d->negative, d->negative == 1 ? " is" : "s are");
	if (d->is_beyond)
		attar_report_remark(report, "totals above 2^64 - 1 are shown as 2^64 - 1");
	for (uint32_t i = 0; (e = by_source_at(&d->events, i)); i++) {
		attar_expr_get_faults(e->num, &faults);
		absent += faults.absent;
		by_zero += faults.by_zero;
	}
	if (absent || by_zero)
		attar_report_remark(report,
			"numbers that could not be computed count as 0: %" PRIu64
			" with an absent field, %" PRIu64 " division%s by zero",
			absent, by_zero, by_zero == 1 ? "" : "s");
}

static const struct attar_stacks_opts by_values = {
	.size = sizeof(by_values), .weight = "values", .tree = true};

static int num_dist_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct num_dist *d = self;
	struct attar_section *table = attar_report_table(report, "numbers");
	int r = run_read_counting(run, add_counted, d);
	struct attar_keyrow **rows;
	size_t n;

	if (r == 0)
		r = attar_keytable_end_interval(d->table);
	if (r == 0)
		r = attar_keytable_rows(d->table, scope, SUM_THAN, &rows, &n);
	if (r < 0)
		return r;
	add_columns(d, table);
	d->is_beyond = false;
	for (size_t i = 0; i < n; i++)
		add_row(d, table, rows[i], scope);
	free(rows);
	if (!d->perins)
		add_histograms(d, report, scope);
	add_remarks(run, d, report);
	if (!d->has_stacks)
		return 0;
	return attar_run_stacks(run, report, d->stacks, scope, &by_values);
}

/* ---- life ---- */

static int num_dist_open(struct attar_run *run, void *self)
{
	struct num_dist *d = self;
	const struct attar_keytable_opts opts = {.size = sizeof(opts),
		.sums = SUMS,
		.hists = 1,
		.value_size = sizeof(struct label),
		.key_max = sizeof(struct key),
		.keys_max = KEYS_MAX,
		.rank = SUM_THAN};
	int r = d->texts.n ? 0
			   : attar_fail(-EINVAL,
				     "num-dist needs an event" ATTAR_FIX "-e EVENT//num=FIELD/");

	d->events = (struct by_source){
		.size = sizeof(struct event), .learn = num_dist_learn, .forget = forget};
	for (size_t i = 0; r == 0 && i < d->texts.n; i++)
		r = attar_run_events(run, d->texts.at[i], d->graph, on_event);
	if (r == 0)
		r = by_source_learn(&d->events, run, self, 0);
	if (r == 0)
		r = attar_stacks_new(attar_run_symbols(run), &d->stacks);
	if (r == 0)
		r = heatmap_new(run, d->heatmap_path, &d->heatmap);
	d->by_thread = attar_run_target_kind(run) != ATTAR_TARGET_SYSTEM;
	if (r == 0)
		r = attar_keytable_new(&opts, &d->table);
	return r < 0 ? r : count_in_kernel(run, d);
}

static void num_dist_close(void *self)
{
	struct num_dist *d = self;

	by_source_done(&d->events);
	attar_keytable_free(d->table);
	attar_stacks_free(d->stacks);
	heatmap_free(d->heatmap);
}

#define T struct num_dist

static const struct attar_option options[] = {
	ATTAR_LIST(T, texts, 'e', "event", "EVENTS",
		"events with the attribute num=EXPR, the number to count; also alias=, stack",
		.complete = "event"),
	ATTAR_TIME(T, than, 0, "than", "NUMBER",
		"also count numbers that are larger; a time, such as 4ms, is in ns", .bare = 1),
	ATTAR_FLAG(T, perins, 0, "perins",
		"a row for each CPU, or for each thread with -p, -t or a command"),
	ATTAR_TEXT(T, heatmap_path, 0, "heatmap", "FILE",
		"write the time (ns) and number of each event to FILE-EVENT.lat",
		.complete = "file"),
	ATTAR_FLAG(T, graph, 'g', "call-graph",
		"show the stacks of the events, with --than only for larger numbers"),
	{0}};

static const struct attar_example examples[] = {
	{"num-dist -e 'sched:sched_stat_runtime//num=runtime/' -i 1s",
		"how long tasks run without interruption, in ns"},
	{"num-dist -e 'syscalls:sys_enter_write//num=count/' --perins -p 1234",
		"the sizes of a process's writes, by thread"},
	{"num-dist -e 'block:block_rq_issue//num=bytes/' --than 131072 -g -d 10s",
		"the sizes of I/O requests, and the stacks of the large ones"},
	{0}};

const struct attar_profiler profiler_num_dist = {
	.name = "num-dist",
	.group = "Events",
	.summary = "the distribution of a number in events, such as a size or a duration",
	.uses = ATTAR_USES_STACKS | ATTAR_USES_RINGS | ATTAR_GIVES_TREE,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct num_dist),
	.options = options,
	.examples = examples,
	.open = num_dist_open,
	.report = num_dist_report,
	.close = num_dist_close,
};
