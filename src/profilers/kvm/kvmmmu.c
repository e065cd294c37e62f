/* SPDX-License-Identifier: MIT */
/*
 * kvmmmu: how KVM maps the memory of guests: page tables that are created and zapped, and with
 * --spte and --mmio the entries that are set.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attar/private/report.h"
#include "attar/run.h"

enum { CREATED, FOUND, ZAPPED, PAGE_SUMS };
enum { SETS, ENTRY_SUMS };
enum { LEVEL_BITS = 9, PAGE_BITS = 12, LEVEL_MAX = 5, ENTRIES_MAX = 1 << 16 };
enum { WRITABLE = 2 }; /* bit of an entry, of all types of page tables */
enum { READ = 1, WRITE = 2, EXECUTE = 4, USER = 8 };

struct page_key {
	int32_t pid;
	uint32_t level;
};

/* The key of an entry that maps memory, and of one for MMIO. */
struct entry_key {
	int32_t pid;
	uint32_t level;  /* 0: MMIO */
	uint32_t access; /* READ to USER */
	uint32_t unused;
	uint64_t gfn; /* number of the guest's page frame */
};

struct kvmmmu {
	bool spte, mmio, detail;
	struct attar_texts events;

	struct attar_keytable *pages, *entries;
};

/* ---- events ---- */

static int32_t pid_of(const struct attar_event *ev)
{
	return ev->thread->process ? ev->thread->process->pid : ev->thread->tid;
}

/* Page tables have 5 levels at most. */
static uint32_t limited(uint64_t level)
{
	return level < 1 ? 1 : level > LEVEL_MAX ? LEVEL_MAX : (uint32_t)level;
}

static void line_columns(struct attar_section *lines)
{
	attar_run_event_columns(lines);
	attar_section_column(lines, "event", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "fields", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
}

static int add_line(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, ev->counter);
	const struct attar_sample *sample = &ev->record->sample;
	const struct kvmmmu *k = self;
	struct attar_section *lines;

	if (!k->detail || !attar_run_wants(run, ATTAR_WANT_LINES))
		return 0;
	lines = attar_run_lines(run, "events", line_columns);
	if (!lines)
		return -ENOMEM;
	attar_run_event_row(run, lines, ev, ev->time);
	attar_cell_text(lines, spec->name);
	if (spec->format)
		cell_fields(lines, spec->format, sample->raw, sample->raw_size,
			attar_run_wants(run, ATTAR_WANT_VALUES));
	return 0;
}

/* The lowest four bits of a page table's role are its level. */
static int add_page(const struct kvmmmu *k, const struct attar_event *ev, int sum)
{
	const struct page_key key = {pid_of(ev), limited(attar_arg_u64(ev, 0) & 0xf)};
	struct attar_keyrow *row = attar_keytable_at(k->pages, &key, sizeof(key));

	if (!row)
		return -ENOMEM;
	row->interval.sums[sum]++;
	return 0;
}

static int on_get_page(struct attar_run *run, void *self, const struct attar_event *ev)
{
	int r = add_page(self, ev, attar_arg_u64(ev, 1) ? CREATED : FOUND);

	return r == 0 ? add_line(run, self, ev) : r;
}

static int on_zap_page(struct attar_run *run, void *self, const struct attar_event *ev)
{
	int r = add_page(self, ev, ZAPPED);

	return r == 0 ? add_line(run, self, ev) : r;
}

static int add_entry(struct attar_run *run, struct kvmmmu *k, const struct attar_event *ev,
	const struct entry_key *key)
{
	struct attar_keyrow *row = attar_keytable_at(k->entries, key, sizeof(*key));

	if (!row)
		return -ENOMEM;
	row->interval.sums[SETS]++;
	return add_line(run, k, ev);
}

/* Fields: gfn, level, spte, r, x, u; u is -1 where it has no meaning. */
static int on_set_spte(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct entry_key key = {.pid = pid_of(ev),
		.level = limited(attar_arg_u64(ev, 1)),
		.access = (attar_arg_u64(ev, 3) ? READ : 0) |
			  (attar_arg_u64(ev, 2) & WRITABLE ? WRITE : 0) |
			  (attar_arg_u64(ev, 4) ? EXECUTE : 0) |
			  (attar_arg_i64(ev, 5) > 0 ? USER : 0),
		.gfn = attar_arg_u64(ev, 0)};

	return add_entry(run, self, ev, &key);
}

/* Fields: gfn, and access with the bits 1 execute, 2 write, 4 user. */
static int on_mmio_spte(struct attar_run *run, void *self, const struct attar_event *ev)
{
	uint64_t access = attar_arg_u64(ev, 1);
	const struct entry_key key = {.pid = pid_of(ev),
		.access = READ | (access & 1 ? EXECUTE : 0) | (access & 2 ? WRITE : 0) |
			  (access & 4 ? USER : 0),
		.gfn = attar_arg_u64(ev, 0)};

	return add_entry(run, self, ev, &key);
}

/* ---- reporting ---- */

/* Bytes that an entry of a page table of this level maps. */
static uint64_t bytes_of(uint32_t level)
{
	return UINT64_C(1) << (PAGE_BITS + LEVEL_BITS * ((level ? level : 1) - 1));
}

static int compare_pages(const void *a, const void *b)
{
	const struct page_key *x = (*(struct attar_keyrow *const *)a)->key,
			      *y = (*(struct attar_keyrow *const *)b)->key;

	return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid)
				: (x->level < y->level) - (x->level > y->level);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry_key *x = (*(struct attar_keyrow *const *)a)->key,
			       *y = (*(struct attar_keyrow *const *)b)->key;

	if (x->pid != y->pid)
		return (x->pid > y->pid) - (x->pid < y->pid);
	if (x->gfn != y->gfn)
		return (x->gfn > y->gfn) - (x->gfn < y->gfn);
	return x->level != y->level ? (x->level > y->level) - (x->level < y->level)
				    : (x->access > y->access) - (x->access < y->access);
}

/* The rows that have a sum in the scope; to be freed. NULL: out of memory. */
static struct attar_keyrow **sort_rows(struct attar_keytable *table, enum attar_scope scope,
	int (*compare)(const void *a, const void *b), size_t *ret_n)
{
	size_t n = attar_keytable_keys(table);
	struct attar_keyrow **rows = malloc((n + 1) * sizeof(*rows));

	if (!rows || attar_keytable_end_interval(table) < 0) {
		free(rows);
		return NULL;
	}
	*ret_n = attar_keytable_top(table, scope, 0, rows, n);
	qsort(rows, *ret_n, sizeof(*rows), compare);
	return rows;
}

static int report_pages(struct kvmmmu *k, struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *table = attar_report_table(report, "page tables");
	size_t n;
	struct attar_keyrow **rows = sort_rows(k->pages, scope, compare_pages, &n);

	if (!rows)
		return -ENOMEM;
	attar_section_column(table, "pid", ATTAR_UNIT_ID);
	attar_section_column(table, "level", ATTAR_UNIT_ID);
	attar_section_column(table, "entries of", ATTAR_UNIT_BYTES);
	attar_section_column(table, "created", ATTAR_UNIT_COUNT);
	attar_section_column(table, "found", ATTAR_UNIT_COUNT);
	attar_section_column(table, "zapped", ATTAR_UNIT_COUNT);
	for (size_t i = 0; i < n; i++) {
		const struct page_key *key = rows[i]->key;

		attar_section_row(table);
		attar_cell_i64(table, key->pid);
		attar_cell_u64(table, key->level);
		attar_cell_u64(table, bytes_of(key->level));
		for (int sum = CREATED; sum < PAGE_SUMS; sum++)
			attar_cell_u64(table, attar_keyrow_sums(rows[i], scope)->sums[sum]);
	}
	free(rows);
	return 0;
}

/* "rwxu" */
static void access_text(uint32_t access, char text[5])
{
	static const char letters[] = "rwxu";

	for (int i = 0; i < 4; i++)
		text[i] = access & (1U << i) ? letters[i] : '-';
	text[4] = '\0';
}

static void add_range(
	struct attar_section *table, const struct entry_key *first, uint64_t entries, uint64_t sets)
{
	uint64_t start = first->gfn << PAGE_BITS;
	char access[5];

	access_text(first->access, access);
	attar_section_row(table);
	attar_cell_i64(table, first->pid);
	attar_cell_u64(table, start);
	attar_cell_u64(table, start + entries * bytes_of(first->level));
	attar_cell_u64(table, bytes_of(first->level));
	attar_cell_text(table, access);
	attar_cell_u64(table, entries);
	attar_cell_u64(table, sets);
}

/* Whether the entry maps what follows n entries of the same kind. */
static bool continues(const struct entry_key *key, const struct entry_key *first, uint64_t n)
{
	return key->pid == first->pid && key->level == first->level &&
	       key->access == first->access &&
	       key->gfn << PAGE_BITS == (first->gfn << PAGE_BITS) + n * bytes_of(first->level);
}

/* Rows of entries that follow one another; is_mmio: of entries for MMIO, otherwise of others. */
static void add_ranges(struct attar_section *table, struct attar_keyrow *const *rows, size_t n,
	enum attar_scope scope, bool is_mmio)
{
	const struct entry_key *first = NULL;
	uint64_t entries = 0, sets = 0;

	for (size_t i = 0; i < n; i++) {
		const struct entry_key *key = rows[i]->key;

		if (is_mmio != (key->level == 0))
			continue;
		if (first && !continues(key, first, entries)) {
			add_range(table, first, entries, sets);
			first = NULL;
		}
		if (!first) {
			first = key;
			entries = sets = 0;
		}
		entries++;
		sets += attar_keyrow_sums(rows[i], scope)->sums[SETS];
	}
	if (first)
		add_range(table, first, entries, sets);
}

static void add_range_table(struct attar_report *report, const char *name,
	struct attar_keyrow *const *rows, size_t n, enum attar_scope scope, bool is_mmio)
{
	struct attar_section *table = attar_report_table(report, name);

	attar_section_column(table, "pid", ATTAR_UNIT_ID);
	attar_section_column(table, "start", ATTAR_UNIT_HEX);
	attar_section_column(table, "end", ATTAR_UNIT_HEX);
	attar_section_column(table, "entries of", ATTAR_UNIT_BYTES);
	attar_section_column(table, "access", ATTAR_UNIT_TEXT);
	attar_section_column(table, "entries", ATTAR_UNIT_COUNT);
	attar_section_column(table, "set", ATTAR_UNIT_COUNT);
	add_ranges(table, rows, n, scope, is_mmio);
}

static int kvmmmu_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct kvmmmu *k = self;
	struct attar_keyrow **rows;
	int r = report_pages(k, report, scope);
	size_t n;

	(void)run;
	if (r < 0 || !(k->spte || k->mmio))
		return r;
	rows = sort_rows(k->entries, scope, compare_entries, &n);
	if (!rows)
		return -ENOMEM;
	if (k->spte)
		add_range_table(report, "mappings", rows, n, scope, false);
	if (k->mmio)
		add_range_table(report, "mmio", rows, n, scope, true);
	free(rows);
	attar_report_evicted(report, k->entries, "entries");
	return 0;
}

/* ---- life ---- */

static int kvmmmu_open(struct attar_run *run, void *self)
{
	static const struct attar_input pages[] = {{.event = "kvmmmu:kvm_mmu_get_page",
							   .fields = {"role", "created"},
							   .on_event = on_get_page},
		{.event = "kvmmmu:kvm_mmu_prepare_zap_page",
			.fields = {"role"},
			.on_event = on_zap_page},
		{0}};
	static const struct attar_input spte = {.event = "kvmmmu:kvm_mmu_set_spte",
		.fields = {"gfn", "level", "spte", "r", "x", "u"},
		.on_event = on_set_spte};
	static const struct attar_input mmio = {.event = "kvmmmu:mark_mmio_spte",
		.fields = {"gfn", "access"},
		.on_event = on_mmio_spte};
	const struct attar_keytable_opts of_pages = {
		.size = sizeof(of_pages), .sums = PAGE_SUMS, .key_max = sizeof(struct page_key)};
	const struct attar_keytable_opts of_entries = {.size = sizeof(of_entries),
		.sums = ENTRY_SUMS,
		.key_max = sizeof(struct entry_key),
		.keys_max = ENTRIES_MAX};
	struct kvmmmu *k = self;
	int r = attar_run_inputs(run, pages);

	if (r == 0 && k->events.n && !k->detail)
		r = attar_fail(-EINVAL,
			"--event has no effect without --detail, which prints the events" ATTAR_FIX
			"add --detail");
	if (r == 0 && k->spte)
		r = attar_run_input(run, &spte);
	if (r == 0 && k->mmio)
		r = attar_run_input(run, &mmio);
	if (r == 0 && k->events.n)
		r = attar_run_event_list(run, &k->events, false, add_line);
	if (r == 0)
		r = attar_keytable_new(&of_pages, &k->pages);
	return r == 0 ? attar_keytable_new(&of_entries, &k->entries) : r;
}

static void kvmmmu_close(void *self)
{
	struct kvmmmu *k = self;

	attar_keytable_free(k->pages);
	attar_keytable_free(k->entries);
}

static const struct attar_option options[] = {
	ATTAR_FLAG(struct kvmmmu, spte, 0, "spte", "also show the memory that is mapped"),
	ATTAR_FLAG(struct kvmmmu, mmio, 0, "mmio", "also show addresses that are marked as MMIO"),
	ATTAR_FLAG(struct kvmmmu, detail, 0, "detail", "print each event"),
	ATTAR_LIST(struct kvmmmu, events, 'e', "event", "EVENTS",
		"with --detail: also print these events, such as kvm:kvm_page_fault",
		ATTAR_COMPLETE("event")),
	{0}};

static const struct attar_example examples[] = {
	{"kvmmmu --spte --mmio -p 1234 -i 1s", "the mappings of a virtual machine, each second"},
	{"kvmmmu --detail -e kvm:kvm_page_fault -d 5s", "each page table and page fault"}, {0}};

const struct attar_profiler profiler_kvmmmu = {
	.name = "kvmmmu",
	.group = "Virtual machines",
	.summary = "page tables of KVM guests, and the memory that they map",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct kvmmmu),
	.options = options,
	.examples = examples,
	.open = kvmmmu_open,
	.report = kvmmmu_report,
	.close = kvmmmu_close,
};
