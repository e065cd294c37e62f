/* SPDX-License-Identifier: MIT */
/*
 * biolatency, biosnoop and bitesize: the latency of block device requests as histograms, request by
 * request, and the sizes of requests by program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "block/requests.h"

struct bio {
	struct block block;
	bool queued;             /* also the time before the issue */
	bool by_device, by_type; /* biolatency */
	uint64_t than;           /* biosnoop: ns */
	bool in_kernel;          /* biolatency: the requests are counted there */

	struct attar_keytable *table; /* a histogram by device, type or program */
};

/* The key of a histogram. Texts are padded with zeros. */
struct bio_key {
	uint32_t dev;
	char type[BLOCK_TYPE_BYTES];
	char comm[BLOCK_COMM_BYTES];
};

/* The latency of a request that was followed from its issue, or as long as it is known. */
static bool latency(const struct bio *b, const struct block_request *request, uint64_t duration,
	uint64_t issued, uint64_t *ret_latency)
{
	*ret_latency = b->queued ? duration : issued;
	return !request->is_partial && *ret_latency;
}

static int add(struct bio *b, const struct bio_key *key, uint64_t value)
{
	struct attar_keyrow *row = attar_keytable_at(b->table, key, sizeof(*key));

	if (!row)
		return -ENOMEM;
	row->interval.sums[0]++;
	return attar_hist_add(&row->interval.hists[0], value);
}

static int biolatency_completed(struct attar_run *run, void *self, const struct attar_event *ev,
	const struct block_request *request, uint64_t duration, uint64_t issued)
{
	struct bio *b = self;
	struct bio_key key = {.dev = b->by_device ? request->dev : 0};
	uint64_t value;

	(void)run, (void)ev;
	if (!latency(b, request, duration, issued, &value))
		return 0;
	if (b->by_type)
		memcpy(key.type, request->type, sizeof(key.type));
	return add(b, &key, value);
}

static int bitesize_completed(struct attar_run *run, void *self, const struct attar_event *ev,
	const struct block_request *request, uint64_t duration, uint64_t issued)
{
	struct bio_key key = {0};

	(void)run, (void)ev, (void)duration, (void)issued;
	if (request->kind == BLOCK_FLUSH)
		return 0;
	memcpy(key.comm, request->comm, sizeof(key.comm));
	return add(self, &key, request->bytes);
}

/* ---- counting in the kernel ---- */

/* The type of a request as events have it, in their field rwbs. */
static void type_text(uint64_t type, char text[BLOCK_TYPE_BYTES])
{
	static const char *const operations[] = {"R", "W", "F", "D", [5] = "DE"};
	static const struct {
		uint32_t flag;
		char letter;
	} flags[] = {{COUNTING_FUA, 'F'}, {COUNTING_RAHEAD, 'A'}, {COUNTING_SYNC, 'S'},
		{COUNTING_META, 'M'}, {COUNTING_ATOMIC, 'U'}};
	size_t operation = type & COUNTING_OPERATION, n;
	bool is_known = operation < sizeof(operations) / sizeof(*operations);

	snprintf(text, BLOCK_TYPE_BYTES, "%s%s", type & COUNTING_PREFLUSH ? "F" : "",
		(is_known ? operations[operation] : NULL) ?: "N");
	n = strlen(text);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (type & flags[i].flag)
			text[n++] = flags[i].letter;
}

static int add_counted(void *ctx, const struct counting_row *counted)
{
	struct bio *b = ctx;
	struct bio_key key = {.dev = (uint32_t)(counted->number >> 32)};
	struct attar_keyrow *row;

	if (b->by_type)
		type_text(counted->number, key.type);
	row = attar_keytable_at(b->table, &key, sizeof(key));
	if (!row)
		return -ENOMEM;
	row->interval.sums[0] += counted->times->count;
	return attar_hist_merge(&row->interval.hists[0], counted->times);
}

/* The times before the issue are known of each request only. */
static int count_in_kernel(struct attar_run *run, struct bio *b)
{
	const struct block_devices *selected = &b->block.selected;
	struct counting_requests requests = {.by_device = b->by_device, .by_type = b->by_type};
	int r;

	for (; requests.n_devices < selected->n_devs; requests.n_devices++) {
		const struct block_device *device = &selected->devs[requests.n_devices];

		requests.devices[requests.n_devices] = (struct counting_device){
			.dev = device->dev, .first = device->first, .last = device->last};
	}
	r = run_count_in_kernel(run,
		&(struct counting_what){.kind = COUNTING_REQUESTS, .requests = &requests},
		b->queued ? "--queued" : NULL);
	b->in_kernel = r > 0;
	return r < 0 ? r : 0;
}

/* ---- lines ---- */

static void snoop_columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "disk", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "type", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "sector", ATTAR_UNIT_ID);
	attar_section_column(lines, "bytes", ATTAR_UNIT_ID);
	attar_section_main(lines);
	attar_section_column(lines, "queued", ATTAR_UNIT_NS);
	attar_section_column(lines, "latency", ATTAR_UNIT_NS);
	attar_section_main(lines);
	attar_section_column(lines, "error", ATTAR_UNIT_ID);
}

static int biosnoop_completed(struct attar_run *run, void *self, const struct attar_event *ev,
	const struct block_request *request, uint64_t duration, uint64_t issued)
{
	const struct bio *b = self;
	struct attar_section *lines;
	char name[BLOCK_NAME_BYTES];

	if ((issued ? issued : duration) <= b->than || !attar_run_wants(run, ATTAR_WANT_LINES))
		return 0;
	lines = attar_run_lines(run, "requests", snoop_columns);
	if (!lines)
		return -ENOMEM;
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_text(lines, request->comm);
	attar_cell_i64(lines, request->tid);
	attar_cell_text(lines, block_name(request->dev, name));
	attar_cell_text(lines, request->type);
	if (request->kind == BLOCK_DATA)
		attar_cell_u64(lines, request->sector);
	else
		attar_cell_none(lines);
	attar_cell_u64(lines, request->bytes);
	if (issued && !request->is_partial)
		attar_cell_u64(lines, duration - issued);
	else
		attar_cell_none(lines);
	if (issued)
		attar_cell_u64(lines, issued);
	else
		attar_cell_none(lines);
	attar_cell_i64(lines, request->error);
	return 0;
}

/* ---- reporting ---- */

/* "sda, WS"; of the row of others NULL. */
static const char *title(const struct bio *b, const struct bio_key *key, char *text, size_t max)
{
	char name[BLOCK_NAME_BYTES];

	if (!key)
		snprintf(text, max, "[others]");
	else
		snprintf(text, max, "%s%s%s%s",
			b->by_device ? block_name(key->dev, name) : key->comm,
			b->by_device && b->by_type ? ", " : "", key->type,
			!b->by_device && !b->by_type && !*key->comm ? "latency" : "");
	return text;
}

static int hist_report(struct attar_run *run, struct bio *b, struct attar_report *report,
	enum attar_scope scope, enum attar_unit unit)
{
	int r = attar_keytable_end_interval(b->table);
	struct attar_keyrow **rows;
	struct attar_section *table;
	char text[96];
	size_t n;

	if (r == 0)
		r = attar_keytable_rows(b->table, scope, 0, &rows, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		attar_report_hist(report, title(b, rows[i]->key, text, sizeof(text)), unit,
			&attar_keyrow_sums(rows[i], scope)->hists[0]);
	if (!n) { /* a report has a section, also without requests */
		table = attar_report_table(report, "requests");
		attar_section_column(table, "count", ATTAR_UNIT_COUNT);
	}
	free(rows);
	if (!b->in_kernel)
		block_add_remarks(run, &b->block, report);
	return 0;
}

static int biolatency_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	int r = run_read_counting(run, add_counted, self);

	return r < 0 ? r : hist_report(run, self, report, scope, ATTAR_UNIT_NS);
}

static int bitesize_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct bio *b = self;

	b->block.left_out = 0; /* flushes, which are never shown */
	return hist_report(run, b, report, scope, ATTAR_UNIT_BYTES);
}

static int biosnoop_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct bio *b = self;

	(void)scope;
	block_add_remarks(run, &b->block, report);
	return 0;
}

/* ---- life ---- */

static int bio_open(struct attar_run *run, struct bio *b)
{
	const struct attar_keytable_opts opts = {.size = sizeof(opts),
		.sums = 1,
		.hists = 1,
		.key_max = sizeof(struct bio_key),
		.keys_max = 1024};
	int r = block_open(run, &b->block);

	return r == 0 ? attar_keytable_new(&opts, &b->table) : r;
}

static int biolatency_open(struct attar_run *run, void *self)
{
	struct bio *b = self;

	int r;

	b->block.completed = biolatency_completed;
	r = bio_open(run, b);
	return r < 0 ? r : count_in_kernel(run, b);
}

static int biosnoop_open(struct attar_run *run, void *self)
{
	struct bio *b = self;

	b->block.completed = biosnoop_completed;
	return bio_open(run, b);
}

static int bitesize_open(struct attar_run *run, void *self)
{
	struct bio *b = self;

	b->block.completed = bitesize_completed;
	return bio_open(run, b);
}

static void bio_close(void *self)
{
	struct bio *b = self;

	block_close(&b->block);
	attar_keytable_free(b->table);
}

static const struct attar_option biolatency_options[] = {BLOCK_OPTION(struct bio),
	ATTAR_FLAG(struct bio, queued, 'Q', "queued", "include the time in the queue"),
	ATTAR_FLAG(struct bio, by_device, 'D', "disks", "a histogram for each device"),
	ATTAR_FLAG(struct bio, by_type, 0, "types", "a histogram for each type of request"), {0}};

static const struct attar_option biosnoop_options[] = {BLOCK_OPTION(struct bio),
	ATTAR_TIME(struct bio, than, 0, "than", "TIME",
		"only requests that take longer: nanoseconds, or with a unit: 4ms", .bare = 1),
	{0}};

static const struct attar_option bitesize_options[] = {BLOCK_OPTION(struct bio), {0}};

static const struct attar_example biolatency_examples[] = {
	{"biolatency -D -i 1s", "by device, each second"},
	{"biolatency -Q -d 10s", "with the time in the queue"}, {0}};

static const struct attar_example biosnoop_examples[] = {
	{"biosnoop --device /dev/sda", "the requests of a disk"},
	{"biosnoop --than 10ms", "requests that take longer than 10 ms"}, {0}};

static const struct attar_example bitesize_examples[] = {
	{"bitesize -d 10s", "all requests in ten seconds"}, {0}};

#define BIO                                                                                        \
	.group = "Disks and files", .needs = "perf events, whole system, tracefs!",                \
	.self_size = sizeof(struct bio), .lost = block_on_lost, .close = bio_close

const struct attar_profiler profiler_biolatency = {
	BIO,
	.name = "biolatency",
	.summary = "latency of block device requests, as histograms",
	.uses = ATTAR_USES_RINGS | ATTAR_REDRAWS,
	.options = biolatency_options,
	.examples = biolatency_examples,
	.open = biolatency_open,
	.report = biolatency_report,
};

const struct attar_profiler profiler_biosnoop = {
	BIO,
	.name = "biosnoop",
	.summary = "print each block device request with its latency",
	.uses = ATTAR_USES_RINGS,
	.options = biosnoop_options,
	.examples = biosnoop_examples,
	.open = biosnoop_open,
	.report = biosnoop_report,
};

const struct attar_profiler profiler_bitesize = {
	BIO,
	.name = "bitesize",
	.summary = "sizes of block device requests by program, as histograms",
	.uses = ATTAR_USES_RINGS | ATTAR_REDRAWS,
	.options = bitesize_options,
	.examples = bitesize_examples,
	.open = bitesize_open,
	.report = bitesize_report,
};
