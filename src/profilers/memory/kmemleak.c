/* SPDX-License-Identifier: MIT */
/* kmemleak: allocations that were not freed, by the stack that made them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory/heap.h"
#include "attar/keytable.h"

enum { ALLOCATIONS_MAX = 1 << 18, GROUPS_MAX = 1 << 16 };

/* Sums of a group of leaked allocations. */
enum { SUM_BYTES, SUM_OBJECTS, SUM_AGE, SUMS };

/* What leaked allocations have in common. */
struct group {
	uint32_t stack, event;
	char comm[ALLOCATION_COMM]; /* only with --comm */
};

struct kmemleak {
	struct heap heap; /* first */
	uint64_t than;
	bool by_comm, is_heap;
};

static int on_alloc(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct kmemleak *k = self;
	struct allocation made;
	int r = allocations_take(&k->heap.allocations, run, ev, &made);

	if (r <= 0)
		return r;
	k->heap.allocated++;
	k->heap.allocated_bytes += made.size;
	allocations_keep(&k->heap.allocations, ev, &made);
	return 0;
}

static int on_free(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct kmemleak *k = self;
	struct allocation freed;
	uint64_t age;
	int r = allocations_end(&k->heap.allocations, run, ev, &freed, &age);

	if (r <= 0)
		return r;
	k->heap.freed++;
	k->heap.freed_bytes += freed.size;
	return 0;
}

/* ---- reports ---- */

static void add_total(const struct kmemleak *k, struct attar_section *table, const char *what,
	uint64_t objects, uint64_t bytes)
{
	attar_section_row(table);
	attar_cell_text(table, what);
	attar_cell_u64(table, objects);
	allocations_add_bytes(&k->heap.allocations, table, bytes);
}

static int add_leak(const struct kmemleak *k, struct attar_keytable *groups,
	const struct allocation *leak, uint64_t age)
{
	struct group group = {.stack = leak->stack, .event = leak->event};
	struct attar_keyrow *row;

	if (k->by_comm)
		memcpy(group.comm, leak->comm, sizeof(group.comm));
	row = attar_keytable_at(groups, &group, sizeof(group));
	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_BYTES] += leak->size;
	row->interval.sums[SUM_OBJECTS]++;
	if (row->interval.sums[SUM_AGE] < age)
		row->interval.sums[SUM_AGE] = age;
	return 0;
}

/* What is open and older than --than. */
static int collect(struct attar_run *run, const struct kmemleak *k, struct attar_keytable *groups,
	struct attar_stacks *stacks, uint64_t *ret_sums)
{
	uint64_t now = attar_run_until(run);
	const struct attar_start *open = NULL;
	int r = 0;

	while (r == 0 && (open = attar_pairs_next_open(k->heap.allocations.open, open))) {
		const struct allocation *leak = open->payload;
		uint64_t age = now > open->time ? now - open->time : 0;

		if ((age <= k->than && k->than) || leak->is_perf)
			continue;
		ret_sums[SUM_BYTES] += leak->size;
		ret_sums[SUM_OBJECTS]++;
		r = add_leak(k, groups, leak, age);
		if (r == 0 && stacks)
			r = allocations_weigh(&k->heap.allocations, stacks, leak);
	}
	return r;
}

static void add_row(struct attar_run *run, const struct kmemleak *k, struct attar_section *table,
	const struct attar_keyrow *row)
{
	const uint64_t *sums = row->interval.sums;
	struct group group = {0};

	if (row->key)
		memcpy(&group, row->key, sizeof(group));
	attar_section_row(table);
	allocations_add_bytes(&k->heap.allocations, table, sums[SUM_BYTES]);
	attar_cell_u64(table, sums[SUM_OBJECTS]);
	attar_cell_u64(table, sums[SUM_AGE]);
	attar_cell_text(
		table, row->key ? allocations_name(&k->heap.allocations, group.event) : "[others]");
	if (k->by_comm)
		attar_cell_text(table, group.comm);
	allocations_add_stack(&k->heap.allocations, run, table, group.stack);
}

/* The sum by which groups are sorted. */
static unsigned rank_of(const struct kmemleak *k)
{
	return k->heap.allocations.has_sizes ? SUM_BYTES : SUM_OBJECTS;
}

static int add_groups(struct attar_run *run, const struct kmemleak *k, struct attar_report *report,
	struct attar_keytable *groups)
{
	struct attar_section *table = attar_report_table(report, "leaks");
	struct attar_keyrow **rows;
	size_t n;
	int r = attar_keytable_rows(groups, ATTAR_SCOPE_INTERVAL, rank_of(k), &rows, &n);

	if (r < 0)
		return r;
	attar_section_column(table, "bytes", ATTAR_UNIT_BYTES);
	attar_section_column(table, "objects", ATTAR_UNIT_COUNT);
	attar_section_column(table, "oldest", ATTAR_UNIT_NS);
	attar_section_column(table, "event", ATTAR_UNIT_TEXT);
	if (k->by_comm)
		attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	for (size_t i = 0; i < n; i++)
		add_row(run, k, table, rows[i]);
	free(rows);
	return 0;
}

/* Leaks are what is open now, in the report of an interval too. */
static int fill_report(struct attar_run *run, struct kmemleak *k, struct attar_report *report,
	struct attar_keytable *groups, struct attar_stacks *stacks)
{
	struct attar_section *table = attar_report_table(report, "allocations");
	uint64_t sums[SUMS] = {0};
	int r = collect(run, k, groups, stacks, sums);

	attar_section_column(table, "state", ATTAR_UNIT_TEXT);
	attar_section_column(table, "objects", ATTAR_UNIT_COUNT);
	attar_section_column(table, "bytes", ATTAR_UNIT_BYTES);
	add_total(k, table, "allocated", k->heap.allocated, k->heap.allocated_bytes);
	add_total(k, table, "freed", k->heap.freed, k->heap.freed_bytes);
	add_total(k, table, "leaked", sums[SUM_OBJECTS], sums[SUM_BYTES]);
	if (r == 0)
		r = add_groups(run, k, report, groups);
	if (r == 0)
		r = attar_run_stacks(run, report, stacks, ATTAR_SCOPE_WHOLE,
			allocations_stacks_opts(&k->heap.allocations));
	allocations_add_remarks(&k->heap.allocations, report, ATTAR_SCOPE_WHOLE);
	heap_add_remarks(&k->heap, report);
	return r;
}

static int kmemleak_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct kmemleak *k = self;
	const struct attar_keytable_opts opts = {.size = sizeof(opts),
		.sums = SUMS,
		.key_max = sizeof(struct group),
		.keys_max = GROUPS_MAX,
		.rank = rank_of(k)};
	struct attar_keytable *groups = NULL;
	struct attar_stacks *stacks = NULL;
	int r = attar_keytable_new(&opts, &groups);

	if (r == 0 && attar_run_wants(run, ATTAR_WANT_TREE) && k->heap.allocations.has_stacks)
		r = attar_stacks_new(attar_run_symbols(run), &stacks);
	if (r == 0)
		r = fill_report(run, k, report, groups, stacks);
	attar_keytable_free(groups);
	attar_stacks_free(stacks);
	return r;
}

/* ---- life ---- */

static int kmemleak_open(struct attar_run *run, void *self)
{
	struct kmemleak *k = self;

	if (!k->is_heap)
		return allocations_add(&k->heap.allocations, run, on_alloc, on_free);
	if (k->heap.allocations.alloc.n || k->heap.allocations.free.n)
		return attar_fail(-EINVAL,
			"--heap conflicts with --alloc and --free" ATTAR_FIX "leave it out");
	return heap_open(&k->heap, run);
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct kmemleak *k = self;

	(void)run;
	allocations_lost(&k->heap.allocations, ev);
	if (k->is_heap)
		heap_lost(&k->heap, ev);
	return 0;
}

static int on_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct kmemleak *k = self;

	(void)run;
	allocations_exited(&k->heap.allocations, ev);
	if (k->is_heap)
		heap_exited(&k->heap, ev);
	return 0;
}

static int on_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct kmemleak *k = self;

	(void)run;
	if (k->is_heap)
		heap_record(&k->heap, ev);
	return 0;
}

static void kmemleak_close(void *self)
{
	struct kmemleak *k = self;

	allocations_done(&k->heap.allocations);
	heap_done(&k->heap);
}

static void kmemleak_defaults(void *self)
{
	((struct kmemleak *)self)->heap.allocations.max = ALLOCATIONS_MAX;
}

#define T struct kmemleak

static const struct attar_option options[] = {
	ATTAR_LIST(T, heap.allocations.alloc, 0, "alloc", "EVENTS",
		"events that allocate memory; attributes: ptr= (default: field ptr), size= "
		"(bytes_alloc), stack",
		.complete = "event"),
	ATTAR_LIST(T, heap.allocations.free, 0, "free", "EVENTS",
		"events that free memory; attribute: ptr= (field ptr)", .complete = "event"),
	ATTAR_FLAG(T, is_heap, 0, "heap",
		"memory of programs: malloc() and its relatives, and mmap(), which are found in "
		"the program or its C library"),
	ATTAR_FLAG(T, by_comm, 0, "comm", "a row for each thread name"),
	ATTAR_TIME(T, than, 0, "than", "TIME", "only older allocations", .bare = 1),
	ATTAR_COUNT(T, heap.allocations.max, 0, "allocations", "N",
		"maximum number of outstanding allocations (default 262,144)", .min = 8,
		.max = 1 << 24),
	ATTAR_FLAG(T, heap.allocations.graph, 'g', "call-graph", "the stacks of all allocations"),
	{0}};

static const struct attar_example examples[] = {
	{"kmemleak --alloc kmem:kmalloc --free kmem:kfree -g",
		"memory that the kernel allocates and does not free, until Ctrl-C"},
	{"kmemleak --alloc kmem:kmalloc//ptr=ptr/size=bytes_alloc/stack/ "
	 "--free kmem:kfree//ptr=ptr/ --than 10s --comm",
		"only memory older than ten seconds, by thread name"},
	{"kmemleak -g --alloc 'uprobe:malloc@libc.so.6//args=(bytes=$arg1)/size=bytes/' "
	 "--alloc 'uretprobe:malloc@libc.so.6//args=(ptr=$retval)/' "
	 "--free 'uprobe:free@libc.so.6//args=(ptr=$arg1)/' -- ./program",
		"memory that a program allocates with malloc() and does not free"},
	{0}};

const struct attar_profiler profiler_kmemleak = {
	.name = "kmemleak",
	.group = "Memory",
	.summary = "find memory that is allocated and not freed, by the stack that allocates it",
	.uses = ATTAR_USES_STACKS | ATTAR_USES_RINGS | ATTAR_GIVES_TREE,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct kmemleak),
	.options = options,
	.examples = examples,
	.defaults = kmemleak_defaults,
	.open = kmemleak_open,
	.lost = on_lost,
	.exited = on_exited,
	.record = on_record,
	.report = kmemleak_report,
	.close = kmemleak_close,
};
