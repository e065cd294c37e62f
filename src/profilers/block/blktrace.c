/* SPDX-License-Identifier: MIT */
/* blktrace: how long the requests of block devices take from stage to stage, and altogether. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "block/requests.h"

enum { SUM_TOTAL, SUM_THAN, SUM_BYTES, SUMS };

struct stage_key {
	uint32_t dev, from, to;
};

struct type_key {
	uint32_t dev, bytes;
	char type[BLOCK_TYPE_BYTES];
};

struct blktrace {
	struct block block;
	uint64_t than;  /* ns */
	bool is_longer; /* emits: the request of the event has completed, after a longer time */

	struct attar_keytable *stages, *types;
};

static int add(
	const struct blktrace *b, struct attar_keyrow *row, uint64_t duration, uint64_t bytes)
{
	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_TOTAL] += duration;
	row->interval.sums[SUM_THAN] += duration > b->than;
	row->interval.sums[SUM_BYTES] += bytes;
	return attar_hist_add(&row->interval.hists[0], duration);
}

static int on_passed(void *self, const struct block_request *request, enum block_stage from,
	enum block_stage to, uint64_t duration)
{
	struct blktrace *b = self;
	const struct stage_key key = {request->dev, from, to};

	return add(b, attar_keytable_at(b->stages, &key, sizeof(key)), duration, request->bytes);
}

static int on_completed(struct attar_run *run, void *self, const struct attar_event *ev,
	const struct block_request *request, uint64_t duration, uint64_t issued)
{
	struct blktrace *b = self;
	struct type_key key = {.dev = request->dev, .bytes = request->bytes};

	(void)run, (void)ev, (void)issued;
	if (request->is_partial)
		return 0;
	b->is_longer = duration > b->than;
	memcpy(key.type, request->type, sizeof(key.type));
	return add(b, attar_keytable_at(b->types, &key, sizeof(key)), duration, request->bytes);
}

/*
 * As an event of another profiler: each event of the requests; with --than, the completion of those
 * that take longer.
 */
static int blktrace_emits(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct blktrace *b = self;
	int r;

	b->is_longer = false;
	r = block_emits(run, &b->block, ev);
	if (r > 0 && b->than)
		r = b->is_longer;
	if (r > 0)
		r = block_emit(run, ev) < 0 ? -ENOMEM : 1;
	return r;
}

/* ---- reporting ---- */

static const char *const stage_names[BLOCK_STAGES] = {"getrq", "insert", "issue", "complete"};

static void add_columns(const struct blktrace *b, struct attar_section *table)
{
	attar_section_column(table, "reqs", ATTAR_UNIT_COUNT);
	attar_section_column(table, "total", ATTAR_UNIT_NS);
	attar_section_column(table, "min", ATTAR_UNIT_NS);
	attar_section_column(table, "avg", ATTAR_UNIT_NS);
	attar_section_column(table, "p50", ATTAR_UNIT_NS);
	attar_section_column(table, "p99", ATTAR_UNIT_NS);
	attar_section_column(table, "max", ATTAR_UNIT_NS);
	if (b->than)
		attar_section_column(table, "than", ATTAR_UNIT_COUNT);
}

static void add_cells(
	const struct blktrace *b, struct attar_section *table, const struct attar_keysums *sums)
{
	const struct attar_hist *hist = &sums->hists[0];

	attar_cell_u64(table, hist->count);
	attar_cell_u64(table, attar_hist_sum(hist));
	attar_cell_u64(table, hist->count ? hist->min : 0);
	attar_cell_u64(table, (uint64_t)attar_hist_mean(hist));
	attar_cell_u64(table, attar_hist_quantile(hist, 0.5));
	attar_cell_u64(table, attar_hist_quantile(hist, 0.99));
	attar_cell_u64(table, hist->count ? hist->max : 0);
	if (b->than)
		attar_cell_u64(table, sums->sums[SUM_THAN]);
}

static void add_stage(struct attar_section *table, const struct attar_keyrow *row)
{
	const struct stage_key *key = row->key;
	char name[BLOCK_NAME_BYTES];

	attar_cell_text(table, key ? block_name(key->dev, name) : "[others]");
	attar_cell_text(table, key ? stage_names[key->from] : "");
	attar_cell_text(table, key ? stage_names[key->to] : "");
}

static void add_type(struct attar_section *table, const struct attar_keyrow *row)
{
	const struct type_key *key = row->key;
	char name[BLOCK_NAME_BYTES];

	attar_cell_text(table, key ? block_name(key->dev, name) : "[others]");
	attar_cell_text(table, key ? key->type : "");
	if (key)
		attar_cell_u64(table, key->bytes);
	else
		attar_cell_none(table);
}

static int by_stage(const void *a, const void *b)
{
	const struct attar_keyrow *const *x = a, *const *y = b;

	return memcmp((*x)->key, (*y)->key, sizeof(struct stage_key));
}

static int add_rows(const struct blktrace *b, struct attar_section *table,
	struct attar_keytable *from, enum attar_scope scope,
	void (*add_key)(struct attar_section *table, const struct attar_keyrow *row))
{
	int r = attar_keytable_end_interval(from);
	struct attar_keyrow **rows;
	size_t n;

	if (r == 0)
		r = attar_keytable_rows(from, scope, SUM_TOTAL, &rows, &n);
	if (r < 0)
		return r;
	if (from == b->stages)
		qsort(rows, n - (n && !rows[n - 1]->key), sizeof(*rows), by_stage);
	for (size_t i = 0; i < n; i++) {
		const struct attar_keysums *sums = attar_keyrow_sums(rows[i], scope);

		attar_section_row(table);
		add_key(table, rows[i]);
		add_cells(b, table, sums);
		if (from == b->types)
			attar_cell_u64(table, sums->sums[SUM_BYTES]);
	}
	free(rows);
	return 0;
}

static int blktrace_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct blktrace *b = self;
	struct attar_section *table = attar_report_table(report, "stages");
	int r;

	attar_section_column(table, "device", ATTAR_UNIT_TEXT);
	attar_section_column(table, "start", ATTAR_UNIT_TEXT);
	attar_section_column(table, "end", ATTAR_UNIT_TEXT);
	add_columns(b, table);
	r = add_rows(b, table, b->stages, scope, add_stage);
	if (r < 0)
		return r;
	table = attar_report_table(report, "requests");
	attar_section_column(table, "device", ATTAR_UNIT_TEXT);
	attar_section_column(table, "type", ATTAR_UNIT_TEXT);
	attar_section_column(table, "size", ATTAR_UNIT_BYTES);
	add_columns(b, table);
	attar_section_column(table, "bytes", ATTAR_UNIT_BYTES);
	r = add_rows(b, table, b->types, scope, add_type);
	block_add_remarks(run, &b->block, report);
	attar_report_evicted(report, b->types, "sizes");
	return r;
}

/* ---- life ---- */

static int blktrace_open(struct attar_run *run, void *self)
{
	struct blktrace *b = self;
	const struct attar_keytable_opts stages = {.size = sizeof(stages),
		.sums = SUMS,
		.hists = 1,
		.key_max = sizeof(struct stage_key)};
	const struct attar_keytable_opts types = {.size = sizeof(types),
		.sums = SUMS,
		.hists = 1,
		.key_max = sizeof(struct type_key),
		.keys_max = 4096};
	int r;

	b->block.passed = on_passed;
	b->block.completed = on_completed;
	r = block_open(run, &b->block);
	if (r == 0)
		r = block_emit_fields(run);
	if (r == 0)
		r = attar_keytable_new(&stages, &b->stages);
	return r == 0 ? attar_keytable_new(&types, &b->types) : r;
}

static void blktrace_close(void *self)
{
	struct blktrace *b = self;

	block_close(&b->block);
	attar_keytable_free(b->stages);
	attar_keytable_free(b->types);
}

static const struct attar_option options[] = {BLOCK_OPTION(struct blktrace),
	ATTAR_TIME(struct blktrace, than, 0, "than", "TIME",
		"add a column with the requests that take longer: nanoseconds, or with a unit: 4ms",
		.bare = 1),
	{0}};

static const struct attar_example examples[] = {
	{"blktrace --device /dev/sda -i 1s", "the stages of a disk's requests, each second"},
	{"blktrace --than 10ms -- make", "requests of a command, and how many take longer"}, {0}};

const struct attar_profiler profiler_blktrace = {
	.name = "blktrace",
	.group = "Disks and files",
	.summary = "time that block device requests spend in each stage",
	.uses = ATTAR_USES_RINGS | ATTAR_REDRAWS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct blktrace),
	.options = options,
	.examples = examples,
	.open = blktrace_open,
	.emits = blktrace_emits,
	.lost = block_on_lost,
	.report = blktrace_report,
	.close = blktrace_close,
};
