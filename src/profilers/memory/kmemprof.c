/* SPDX-License-Identifier: MIT */
/* kmemprof: which stacks allocate most memory, and how long it is used. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory/allocations.h"
#include "attar/keytable.h"

enum { ALLOCATIONS_MAX = 1 << 18, STACKS_MAX = 1 << 16 };

/* Sums of a stack. */
enum { SUM_BYTES, SUM_OBJECTS, SUM_FREED_BYTES, SUM_FREED, SUMS };

struct key {
	uint32_t event, stack;
};

struct kmemprof {
	struct allocations allocations;
	struct attar_texts texts; /* -e: the first allocates, the second frees */
	struct attar_keytable *table;
	struct attar_stacks *stacks;
};

static struct attar_keyrow *find_row(struct kmemprof *k, const struct allocation *made)
{
	const struct key key = {.event = made->event, .stack = made->stack};

	return attar_keytable_at(k->table, &key, sizeof(key));
}

static int on_alloc(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct kmemprof *k = self;
	struct attar_keyrow *row;
	struct allocation made;
	int r = allocations_take(&k->allocations, run, ev, &made);

	if (r <= 0)
		return r;
	allocations_keep(&k->allocations, ev, &made);
	row = find_row(k, &made);
	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_BYTES] += made.size;
	row->interval.sums[SUM_OBJECTS]++;
	return k->stacks ? allocations_weigh(&k->allocations, k->stacks, &made) : 0;
}

static int on_free(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct kmemprof *k = self;
	struct attar_keyrow *row;
	struct allocation freed;
	uint64_t age;
	int r = allocations_end(&k->allocations, run, ev, &freed, &age);

	if (r <= 0)
		return r;
	row = find_row(k, &freed);
	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_FREED_BYTES] += freed.size;
	row->interval.sums[SUM_FREED]++;
	return attar_hist_add(&row->interval.hists[0], age);
}

/* ---- reports ---- */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void add_columns(struct attar_section *table)
{
	attar_section_column(table, "of bytes", ATTAR_UNIT_PERCENT);
	attar_section_column(table, "bytes", ATTAR_UNIT_BYTES);
	attar_section_column(table, "of objects", ATTAR_UNIT_PERCENT);
	attar_section_column(table, "objects", ATTAR_UNIT_COUNT);
	attar_section_column(table, "freed bytes", ATTAR_UNIT_BYTES);
	attar_section_column(table, "freed", ATTAR_UNIT_COUNT);
	attar_section_column(table, "p50 age", ATTAR_UNIT_NS);
	attar_section_column(table, "max age", ATTAR_UNIT_NS);
	attar_section_column(table, "event", ATTAR_UNIT_TEXT);
}

static void add_row(struct attar_run *run, const struct kmemprof *k, struct attar_section *table,
	const struct attar_keyrow *row, const uint64_t *whole, enum attar_scope scope)
{
	const struct attar_keysums *sums = attar_keyrow_sums(row, scope);
	const struct attar_hist *ages = &sums->hists[0];
	struct key key = {0};

	if (row->key)
		memcpy(&key, row->key, sizeof(key));
	attar_section_row(table);
	if (k->allocations.has_sizes)
		attar_cell_double(table, percent(sums->sums[SUM_BYTES], whole[SUM_BYTES]));
	else
		attar_cell_none(table);
	allocations_add_bytes(&k->allocations, table, sums->sums[SUM_BYTES]);
	attar_cell_double(table, percent(sums->sums[SUM_OBJECTS], whole[SUM_OBJECTS]));
	attar_cell_u64(table, sums->sums[SUM_OBJECTS]);
	allocations_add_bytes(&k->allocations, table, sums->sums[SUM_FREED_BYTES]);
	attar_cell_u64(table, sums->sums[SUM_FREED]);
	if (ages->count) {
		attar_cell_u64(table, attar_hist_quantile(ages, 0.5));
		attar_cell_u64(table, ages->max);
	} else {
		attar_cell_none(table);
		attar_cell_none(table);
	}
	attar_cell_text(
		table, row->key ? allocations_name(&k->allocations, key.event) : "[others]");
	allocations_add_stack(&k->allocations, run, table, key.stack);
}

/* The sums of all rows of an event. */
static void add_up(
	const struct kmemprof *k, uint32_t event, enum attar_scope scope, uint64_t ret_sums[SUMS])
{
	const struct attar_keyrow *row = NULL;

	memset(ret_sums, 0, SUMS * sizeof(*ret_sums));
	while ((row = attar_keytable_next(k->table, row)))
		for (int i = 0; i < SUMS && ((const struct key *)row->key)->event == event; i++)
			ret_sums[i] += attar_keyrow_sums(row, scope)->sums[i];
}

static void add_totals(
	const struct kmemprof *k, struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *table = attar_report_table(report, "allocations");
	uint64_t sums[SUMS];

	attar_section_column(table, "event", ATTAR_UNIT_TEXT);
	attar_section_column(table, "bytes", ATTAR_UNIT_BYTES);
	attar_section_column(table, "objects", ATTAR_UNIT_COUNT);
	attar_section_column(table, "freed bytes", ATTAR_UNIT_BYTES);
	attar_section_column(table, "freed", ATTAR_UNIT_COUNT);
	for (uint32_t i = 0; by_source_at(&k->allocations.allocs, i); i++) {
		add_up(k, i, scope, sums);
		attar_section_row(table);
		attar_cell_text(table, allocations_name(&k->allocations, i));
		allocations_add_bytes(&k->allocations, table, sums[SUM_BYTES]);
		attar_cell_u64(table, sums[SUM_OBJECTS]);
		allocations_add_bytes(&k->allocations, table, sums[SUM_FREED_BYTES]);
		attar_cell_u64(table, sums[SUM_FREED]);
	}
}

/* The sum by which stacks are sorted. */
static unsigned rank_of(const struct kmemprof *k)
{
	return k->allocations.has_sizes ? SUM_BYTES : SUM_OBJECTS;
}

static int add_stacks(struct attar_run *run, const struct kmemprof *k, struct attar_report *report,
	enum attar_scope scope)
{
	struct attar_section *table = attar_report_table(report, "stacks");
	struct attar_keyrow **rows;
	uint64_t whole[SUMS] = {0}, sums[SUMS];
	size_t n;
	int r = attar_keytable_rows(k->table, scope, rank_of(k), &rows, &n);

	if (r < 0)
		return r;
	for (uint32_t i = 0; by_source_at(&k->allocations.allocs, i); i++) {
		add_up(k, i, scope, sums);
		whole[SUM_BYTES] += sums[SUM_BYTES];
		whole[SUM_OBJECTS] += sums[SUM_OBJECTS];
	}
	add_columns(table);
	for (size_t i = 0; i < n; i++)
		add_row(run, k, table, rows[i], whole, scope);
	free(rows);
	return 0;
}

static int kmemprof_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct kmemprof *k = self;
	int r = attar_keytable_end_interval(k->table);

	if (r == 0) {
		add_totals(k, report, scope);
		r = add_stacks(run, k, report, scope);
	}
	if (r == 0)
		r = attar_run_stacks(
			run, report, k->stacks, scope, allocations_stacks_opts(&k->allocations));
	allocations_add_remarks(&k->allocations, report, scope);
	attar_report_evicted(report, k->table, "stacks");
	return r;
}

/* ---- life ---- */

/* -e ALLOC -e FREE is --alloc ALLOC --free FREE. */
static int take_events(struct kmemprof *k)
{
	struct attar_texts *alloc = &k->allocations.alloc, *freed = &k->allocations.free;

	if (!k->texts.n)
		return 0;
	if (k->texts.n != 2 || alloc->n || freed->n)
		return attar_fail(-EINVAL,
			"kmemprof requires two -e options, for allocations and for frees" ATTAR_FIX
			"-e kmem:kmalloc -e kmem:kfree");
	*alloc = (struct attar_texts){.at = &k->texts.at[0], .n = 1};
	*freed = (struct attar_texts){.at = &k->texts.at[1], .n = 1};
	return 0;
}

static int kmemprof_open(struct attar_run *run, void *self)
{
	struct attar_keytable_opts opts = {.size = sizeof(opts),
		.sums = SUMS,
		.hists = 1,
		.key_max = sizeof(struct key),
		.keys_max = STACKS_MAX};
	struct kmemprof *k = self;
	int r = take_events(k);

	if (r == 0)
		r = allocations_add(&k->allocations, run, on_alloc, on_free);
	if (r == 0 && k->allocations.has_stacks && attar_run_wants(run, ATTAR_WANT_TREE))
		r = attar_stacks_new(attar_run_symbols(run), &k->stacks);
	opts.rank = rank_of(k);
	return r < 0 ? r : attar_keytable_new(&opts, &k->table);
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	allocations_lost(&((struct kmemprof *)self)->allocations, ev);
	return 0;
}

static int on_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	allocations_exited(&((struct kmemprof *)self)->allocations, ev);
	return 0;
}

static void kmemprof_close(void *self)
{
	struct kmemprof *k = self;

	allocations_done(&k->allocations);
	attar_keytable_free(k->table);
	attar_stacks_free(k->stacks);
}

static void kmemprof_defaults(void *self)
{
	((struct kmemprof *)self)->allocations.max = ALLOCATIONS_MAX;
}

#define T struct kmemprof

static const struct attar_option options[] = {
	ATTAR_LIST(T, texts, 'e', "event", "EVENTS",
		"the first: events that allocate memory; the second: events that free it; "
		"attributes: ptr= or key= (default: field ptr), size= (bytes_alloc), stack",
		.complete = "event"),
	ATTAR_LIST(T, allocations.alloc, 0, "alloc", "EVENTS", "as the first -e; may be repeated",
		.complete = "event"),
	ATTAR_LIST(T, allocations.free, 0, "free", "EVENTS", "as the second -e; may be repeated",
		.complete = "event"),
	ATTAR_TEXT(T, allocations.key, 'k', "key", "EXPR",
		"the address in events without ptr= and key= (default: field ptr)"),
	ATTAR_COUNT(T, allocations.max, 0, "allocations", "N",
		"maximum number of outstanding allocations (default 262,144)", .min = 8,
		.max = 1 << 24),
	ATTAR_FLAG(T, allocations.graph, 'g', "call-graph", "the stacks of all allocations"), {0}};

static const struct attar_example examples[] = {
	{"kmemprof -e kmem:kmalloc -e kmem:kfree -g -i 1s",
		"the stacks that allocate the most kernel memory, each second"},
	{"kmemprof -e kmem:kmalloc//stack/ -e kmem:kfree --flame-graph alloc.html -d 10s",
		"a flame graph of the allocated bytes"},
	{0}};

const struct attar_profiler profiler_kmemprof = {
	.name = "kmemprof",
	.group = "Memory",
	.summary = "stacks that allocate the most memory, and how long it is used",
	.uses = ATTAR_USES_STACKS | ATTAR_USES_RINGS | ATTAR_GIVES_TREE,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct kmemprof),
	.options = options,
	.examples = examples,
	.defaults = kmemprof_defaults,
	.open = kmemprof_open,
	.lost = on_lost,
	.exited = on_exited,
	.report = kmemprof_report,
	.close = kmemprof_close,
};
