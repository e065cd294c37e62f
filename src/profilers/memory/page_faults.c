/* SPDX-License-Identifier: MIT */
/* page-faults: which processes fault on which files and other mappings. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/keytable.h"
#include "attar/run.h"
#include "memory/mappings.h"
#include "lib/registers.h"
#include "lib/sample_weight.h"
#include "lib/task_sums.h"

enum { SUM_FAULTS, SUM_MAJOR, SUMS, KEYS_MAX = 1 << 16, DEPTH_MAX = 512, NAME_BYTES = 64 };

enum { STACK_BELOW = 1 << 16, STACK_ABOVE = 8 << 20 };

/* Instead of a kind, of faults in a recording without addresses. */
static const enum mapping_kind no_address = MAPPING_KINDS;

/* What the faults of a row have in common. */
struct key {
	uint64_t process; /* see task_by_number(): later processes can have the same pid */
	uint64_t execs;   /* of the process: each program has its own rows */
	uint64_t kind;    /* or no_address */
	uint64_t start;   /* of a mapping without a file */
	const char *path;
};

/* The block of a row. */
struct range {
	uint64_t first, last; /* addresses */
	int64_t pid;
	char comm[NAME_BYTES];
};

struct page_faults {
	bool graph, detail;
	const char *by_text;
	bool takes_stacks; /* for -g, or for outputs that are made for trees */
	bool has_read;     /* the mappings of the processes that the options select */

	struct mappings mappings;
	struct attar_keytable *table;
	struct task_sums tasks; /* of --by */
	struct attar_stacks *stacks;
	uint32_t major;   /* source of major faults */
	uint64_t nowhere; /* samples without an address */
};

/* ---- faults ---- */

/* A stack that has grown since, or whose process has exited, is where the stack pointer is. */
static enum mapping_kind guess(const struct attar_event *ev)
{
	uint64_t address = ev->record->sample.addr, sp;

	if (!registers_stack_pointer(&ev->record->sample.regs_user, &sp))
		return MAPPING_UNKNOWN;
	return address + STACK_BELOW >= sp && address < sp + STACK_ABOVE ? MAPPING_STACK
									 : MAPPING_UNKNOWN;
}

static bool has_address(const struct attar_run *run, const struct attar_event *ev)
{
	return attar_run_source_attr(run, ev->counter)->sample_type & PERF_SAMPLE_ADDR;
}

static struct mapping find_mapping(
	const struct attar_run *run, struct page_faults *p, const struct attar_event *ev)
{
	const struct mapping *found;

	if (!has_address(run, ev))
		return (struct mapping){.kind = no_address, .path = ""};
	found = mappings_find(&p->mappings, ev->thread, ev->record->sample.addr);
	return found ? *found : (struct mapping){.kind = guess(ev), .path = ""};
}

static const char *kind_name(uint64_t kind)
{
	return kind == no_address ? "" : mapping_kind_name((enum mapping_kind)kind);
}

/* Without one, the cell is empty. */
static void add_address(struct attar_section *section, uint64_t kind, uint64_t address)
{
	if (kind == no_address)
		attar_cell_none(section);
	else
		attar_cell_u64(section, address);
}

static void columns(struct attar_section *lines)
{
	attar_run_event_columns(lines);
	attar_section_column(lines, "fault", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "address", ATTAR_UNIT_HEX);
	attar_section_main(lines);
	attar_section_column(lines, "mapping", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "file", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "registers", ATTAR_UNIT_TEXT);
}

static int page_faults_show(struct attar_run *run, struct page_faults *p,
	const struct attar_event *ev, const struct mapping *mapping,
	const attar_location *locations, size_t n)
{
	struct attar_section *lines = attar_run_lines(run, "faults", columns);
	char text[REGISTERS_TEXT_MAX];

	if (!lines)
		return -ENOMEM;
	attar_run_event_row(run, lines, ev, ev->time);
	attar_cell_text(lines, ev->counter == p->major ? "major" : "minor");
	add_address(lines, mapping->kind, ev->record->sample.addr);
	attar_cell_text(lines, kind_name(mapping->kind));
	attar_cell_text(lines, mapping->path);
	registers_text(&ev->record->sample.regs_user, text);
	attar_cell_text(lines, text);
	attar_row_stack(lines, attar_run_symbols(run), locations, p->graph ? n : 1);
	return 0;
}

static int page_faults_count(const struct attar_run *run, struct page_faults *p,
	const struct attar_event *ev, const struct mapping *mapping, uint64_t faults)
{
	const struct key key = {.process = task_by_number(run, BY_PROCESS, ev->thread),
		.execs = mappings_execs(&p->mappings, ev->thread),
		.kind = mapping->kind,
		.start = mapping->kind == MAPPING_FILE ? 0 : mapping->start,
		.path = mapping->path};
	uint64_t address = ev->record->sample.addr;
	struct attar_keyrow *row = attar_keytable_at(p->table, &key, sizeof(key));
	struct range *range = row ? row->value : NULL;

	if (!row)
		return -ENOMEM;
	if (!range->comm[0] || address < range->first)
		range->first = address;
	if (address > range->last)
		range->last = address;
	range->pid = ev->thread->process->pid;
	if (strncmp(range->comm, ev->thread->process->comm, NAME_BYTES - 1) != 0)
		snprintf(range->comm, NAME_BYTES, "%s", ev->thread->process->comm);
	row->interval.sums[SUM_FAULTS] += faults;
	row->interval.sums[SUM_MAJOR] += ev->counter == p->major ? faults : 0;
	return 0;
}

static int on_fault(struct attar_run *run, void *self, const struct attar_event *ev)
{
	attar_location locations[DEPTH_MAX];
	struct page_faults *p = self;
	struct mapping mapping = find_mapping(run, p, ev);
	size_t n = p->takes_stacks || p->detail ? attar_event_stack(ev, locations, DEPTH_MAX) : 0;
	const struct sample_events events = sample_events_of_source(run, ev->counter);
	const uint64_t faults = sample_events_get(&events, ev);
	int r = page_faults_count(run, p, ev, &mapping, faults);

	p->nowhere += mapping.kind == no_address;
	if (r == 0 && p->detail && attar_run_wants(run, ATTAR_WANT_LINES))
		r = page_faults_show(run, p, ev, &mapping, locations, n);
	if (r == 0 && p->tasks.table) {
		const uint64_t sums[SUMS] = {
			[SUM_FAULTS] = faults, [SUM_MAJOR] = ev->counter == p->major ? faults : 0};

		r = task_sums_add(run, &p->tasks, ev->thread, sums);
	}
	if (r < 0 || !p->stacks)
		return r;
	return attar_stacks_add(p->stacks, ev->thread, locations, n, faults);
}

/* As an event of another profiler: each fault. */
static int page_faults_emits(struct attar_run *run, void *self, const struct attar_event *ev)
{
	(void)run, (void)self, (void)ev;
	return 1;
}

static int on_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	if (run_emits(run)) /* mappings are not shown */
		return 0;
	return mappings_record(&((struct page_faults *)self)->mappings, ev);
}

/* A process that the options select may end right after its only fault. */
static int page_faults_turn(struct attar_run *run, void *self)
{
	struct page_faults *p = self;
	const struct attar_thread *thread;
	const int *tids;
	size_t n;
	int r = 0;

	if (p->has_read || run_emits(run))
		return 0;
	p->has_read = true;
	n = run_target_tids(run, &tids);
	for (size_t i = 0; r == 0 && i < n; i++) {
		thread = attar_run_thread(run, tids[i]);
		if (thread && thread->process)
			r = mappings_read(&p->mappings, thread->process->pid);
	}
	return r;
}

/* ---- reports ---- */

static void add_row(
	struct attar_section *table, const struct attar_keyrow *row, enum attar_scope scope)
{
	const struct attar_keysums *sums = attar_keyrow_sums(row, scope);
	const struct range *range = row->value;
	struct key key = {.path = ""};

	if (row->key)
		memcpy(&key, row->key, sizeof(key));
	attar_section_row(table);
	attar_cell_text(table, row->key ? range->comm : "[others]");
	if (row->key)
		attar_cell_i64(table, range->pid);
	else
		attar_cell_none(table);
	attar_cell_u64(table, sums->sums[SUM_FAULTS]);
	attar_cell_u64(table, sums->sums[SUM_MAJOR]);
	attar_cell_text(table, kind_name(key.kind));
	add_address(table, key.kind, range->first);
	add_address(table, key.kind, range->last);
	attar_cell_text(table, key.path);
}

static void add_columns(struct attar_section *table)
{
	attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(table, "pid", ATTAR_UNIT_ID);
	attar_section_column(table, "faults", ATTAR_UNIT_COUNT);
	attar_section_column(table, "major", ATTAR_UNIT_COUNT);
	attar_section_column(table, "mapping", ATTAR_UNIT_TEXT);
	attar_section_column(table, "from", ATTAR_UNIT_HEX);
	attar_section_column(table, "to", ATTAR_UNIT_HEX);
	attar_section_column(table, "file", ATTAR_UNIT_TEXT);
}

static void add_remarks(
	const struct attar_run *run, const struct page_faults *p, struct attar_report *report)
{
	attar_report_evicted(report, p->table, "mappings");
	sample_events_remark(run, report);
	if (p->nowhere)
		attar_report_remark(report,
			"the recording has no addresses of %" PRIu64 " sample%s, so their mappings "
			"are unknown: record with attar record, or perf record -d",
			p->nowhere, p->nowhere == 1 ? "" : "s");
}

static const struct task_sum_column task_columns[SUMS] = {
	[SUM_FAULTS] = {"faults", ATTAR_UNIT_COUNT}, [SUM_MAJOR] = {"major", ATTAR_UNIT_COUNT}};

static int page_faults_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct page_faults *p = self;
	const struct attar_stacks_opts opts = {
		.size = sizeof(opts), .weight = "faults", .tree = true, .for_trees = !p->graph};
	struct attar_section *table = attar_report_table(report, "page faults");
	int r = attar_keytable_end_interval(p->table);
	struct attar_keyrow **rows;
	size_t n;

	if (r == 0)
		r = attar_keytable_rows(p->table, scope, SUM_FAULTS, &rows, &n);
	if (r < 0)
		return r;
	add_columns(table);
	for (size_t i = 0; i < n; i++)
		add_row(table, rows[i], scope);
	free(rows);
	add_remarks(run, p, report);
	r = task_sums_report(run, &p->tasks, report, scope, task_columns);
	if (r < 0)
		return r;
	return attar_run_stacks(run, report, p->stacks, scope, &opts);
}

/* ---- life ---- */

/* Faults by their software events; mappings of data need separate records. */
static int add_sources(struct attar_run *run, struct page_faults *p)
{
	struct perf_event_attr fault = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_REGS_USER,
		.sample_regs_user = p->detail || run_emits(run) ? registers_all()
								: registers_stack_pointer_mask()};
	struct perf_event_attr maps = {.type = PERF_TYPE_SOFTWARE,
		.sample_type = PERF_SAMPLE_IP, /* times are at the same offset then */
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap_data = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1};
	int r;

	if (p->takes_stacks)
		fault.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (run_emits(run)) { /* one event of the other profiler */
		fault.config = PERF_COUNT_SW_PAGE_FAULTS;
		return attar_run_source(run, "page-faults", &fault, on_fault);
	}
	r = attar_run_source(run, "minor-faults", &fault, on_fault);
	fault.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ;
	p->major = attar_run_sources(run);
	if (r == 0)
		r = attar_run_source(run, "major-faults", &fault, on_fault);
	return r < 0 ? r : attar_run_source(run, "mappings", &maps, on_fault);
}

/* A recording has some of these events; page-faults are both kinds. */
static int add_recorded(struct attar_run *run, struct page_faults *p)
{
	struct attar_input faults = {.event = "major-faults",
		.on_event = on_fault,
		.stacks = p->takes_stacks,
		.optional = true};
	int r = attar_run_input(run, &faults);

	p->major = r == 0 && attar_run_sources(run) ? 0 : UINT32_MAX;
	faults.event = "minor-faults";
	if (r == 0)
		r = attar_run_input(run, &faults);
	faults.event = "page-faults";
	faults.optional = false;
	return r == 0 && !attar_run_sources(run) ? attar_run_input(run, &faults) : r;
}

static int page_faults_open(struct attar_run *run, void *self)
{
	const struct attar_keytable_opts opts = {.size = sizeof(opts),
		.sums = SUMS,
		.value_size = sizeof(struct range),
		.key_max = sizeof(struct key),
		.keys_max = KEYS_MAX};
	struct page_faults *p = self;
	bool is_live = attar_run_is_live(run);
	int r = mappings_init(&p->mappings, run);

	p->takes_stacks = p->graph || (attar_run_wants(run, ATTAR_WANT_TREE) && !run_emits(run));
	if (r == 0)
		r = is_live ? add_sources(run, p) : add_recorded(run, p);
	if (r == 0)
		r = attar_keytable_new(&opts, &p->table);
	if (r == 0 && p->takes_stacks)
		r = attar_stacks_new(attar_run_symbols(run), &p->stacks);
	return r < 0 ? r : task_sums_open(run, p->by_text, p->stacks, SUMS, &p->tasks);
}

static void page_faults_close(void *self)
{
	struct page_faults *p = self;

	mappings_done(&p->mappings);
	attar_keytable_free(p->table);
	attar_stacks_free(p->stacks);
	task_sums_close(&p->tasks);
}

#define T struct page_faults

static const struct attar_option options[] = {
	ATTAR_FLAG(T, graph, 'g', "call-graph", "show the stacks of the faults"),
	ATTAR_TEXT(T, by_text, 0, "by", "WHAT",
		"also show the faults of each " TASK_BY_HELP ", above its stacks"),
	ATTAR_FLAG(T, detail, 0, "detail",
		"print each fault with the user registers, with -g also its stack"),
	{0}};

static const struct attar_example examples[] = {
	{"page-faults -i 1s", "the faults of all processes by mapping, each second"},
	{"page-faults -g --flame-graph faults.html -p 1234",
		"the code of a process that causes faults"},
	{"page-faults --detail -- ls", "each fault of a command, with its registers"}, {0}};

const struct attar_profiler profiler_page_faults = {
	.name = "page-faults",
	.group = "Memory",
	.summary = "page faults by process and mapping, and the code that causes them",
	.uses = ATTAR_USES_STACKS | ATTAR_USES_RINGS | ATTAR_GIVES_TREE,
	.needs = "perf events, whole system",
	.self_size = sizeof(struct page_faults),
	.options = options,
	.examples = examples,
	.open = page_faults_open,
	.emits = page_faults_emits,
	.record = on_record,
	.turn = page_faults_turn,
	.report = page_faults_report,
	.close = page_faults_close,
};
