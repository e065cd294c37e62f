/* SPDX-License-Identifier: MIT */
/*
 * cachestat: hits and misses of the page cache, from how often the kernel calls four functions.
 * Pages are marked as accessed by reads and writes, and added to the cache after a miss; buffers
 * and pages become dirty by writes, whose accesses and additions are not reads.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/run.h"

enum { ACCESSED, ADDED, PAGES_DIRTIED, BUFFERS_DIRTIED, COUNTS };
enum { NAMES_MAX = 3, NAME_BYTES = 128 };

/* The first one that the kernel has is counted. */
static const char *const events[COUNTS][NAMES_MAX] = {
	[ACCESSED] = {"kprobe:folio_mark_accessed", "kprobe:mark_page_accessed"},
	[ADDED] = {"kprobe:filemap_add_folio", "kprobe:add_to_page_cache_lru"},
	[PAGES_DIRTIED] = {"writeback:writeback_dirty_folio", "writeback:writeback_dirty_page",
		"kprobe:account_page_dirtied"},
	[BUFFERS_DIRTIED] = {"kprobe:mark_buffer_dirty"},
};

/* ---- events ---- */

/* Whether the kernel has this function. Lines are "ffffffff81000000 T name". */
static bool is_function(const char *wanted)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], name[NAME_BYTES], type;
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%*s %c %127s", &type, name) == 2 &&
			(type == 't' || type == 'T') && !strcmp(name, wanted);
	if (file)
		fclose(file);
	return found;
}

static bool may_exist(const struct attar_run *run, const char *event)
{
	return !attar_run_is_live(run) || strncmp(event, "kprobe:", 7) != 0 ||
	       is_function(event + 7);
}

/* In recordings, the event has perf probe's name. */
static const char *name_of(const struct attar_run *run, const char *event)
{
	return event + (!attar_run_is_live(run) && !strncmp(event, "kprobe:", 7));
}

/* The error of the first name is the error of all. */
static int count_first(struct attar_run *run, const char *const names[NAMES_MAX])
{
	int r;

	for (int i = 0; i < NAMES_MAX && names[i]; i++) {
		if (!may_exist(run, names[i]))
			continue;
		r = attar_run_count(run, name_of(run, names[i]));
		if (r != -EINVAL && r != -ENOENT)
			return r;
		attar_error_clear();
	}
	return attar_fail(-EOPNOTSUPP, "cachestat counts '%s', which %s does not have",
		name_of(run, names[0]), attar_run_is_live(run) ? "this kernel" : "the recording");
}

static int cachestat_open(struct attar_run *run, void *self)
{
	int r = run_watch_cpus(run);

	for (int i = 0; r == 0 && i < COUNTS; i++)
		r = count_first(run, events[i]);
	return r;
}

/* ---- the report ---- */

struct cache_use {
	uint64_t hits, misses, dirtied;
};

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* The counts of the kernel's functions are not of one moment: differences are at least 0. */
static struct cache_use use_of(const uint64_t counts[COUNTS])
{
	uint64_t all = less(counts[ACCESSED], counts[BUFFERS_DIRTIED]);
	uint64_t misses = less(counts[ADDED], counts[PAGES_DIRTIED]);

	misses = misses < all ? misses : all;
	return (struct cache_use){
		.hits = all - misses, .misses = misses, .dirtied = counts[BUFFERS_DIRTIED]};
}

/* A line of /proc/meminfo, in bytes. */
static bool memory_of(const char *name, uint64_t *ret_bytes)
{
	FILE *file = fopen("/proc/meminfo", "re");
	char line[256];
	unsigned long long kib;
	size_t n = strlen(name);
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = !strncmp(line, name, n) && sscanf(line + n, ": %llu", &kib) == 1;
	if (file)
		fclose(file);
	if (found)
		*ret_bytes = kib * 1024;
	return found;
}

static void add_memory(const struct attar_run *run, struct attar_section *table, const char *name)
{
	uint64_t bytes;

	if (attar_run_is_live(run) && memory_of(name, &bytes))
		attar_cell_u64(table, bytes);
	else
		attar_cell_none(table);
}

static int cachestat_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *table = attar_report_table(report, "page cache");
	const struct attar_count_row *rows;
	uint64_t counts[COUNTS] = {0};
	struct cache_use use;
	size_t n;
	int r = attar_run_count_rows(run, scope, &rows, &n);

	if (r < 0)
		return r;
	for (int i = 0; i < COUNTS; i++) {
		const struct attar_run_counter *c = attar_run_get_counter(run, (size_t)i);

		if (c && c->refused)
			return attar_fail(c->error ? c->error : -EOPNOTSUPP,
				"cachestat cannot count '%s': %s", c->name, c->refused);
		for (size_t k = 0; k < n; k++)
			counts[i] += rows[k].counts[i].sum.value;
	}
	use = use_of(counts);
	attar_section_column(table, "hits", ATTAR_UNIT_COUNT);
	attar_section_column(table, "misses", ATTAR_UNIT_COUNT);
	attar_section_column(table, "dirtied", ATTAR_UNIT_COUNT);
	attar_section_column(table, "hit ratio", ATTAR_UNIT_PERCENT);
	attar_section_column(table, "buffers", ATTAR_UNIT_BYTES);
	attar_section_column(table, "cached", ATTAR_UNIT_BYTES);
	attar_section_row(table);
	attar_cell_u64(table, use.hits);
	attar_cell_u64(table, use.misses);
	attar_cell_u64(table, use.dirtied);
	if (use.hits + use.misses)
		attar_cell_double(table, 100 * (double)use.hits / (double)(use.hits + use.misses));
	else
		attar_cell_none(table);
	add_memory(run, table, "Buffers");
	add_memory(run, table, "Cached");
	return 0;
}

static const struct attar_option options[] = {{0}};

static const struct attar_example examples[] = {{"cachestat -i 1s", "each second, until Ctrl-C"},
	{"cachestat -- tar cf /dev/null .", "the whole system while a command runs"}, {0}};

const struct attar_profiler profiler_cachestat = {
	.name = "cachestat",
	.group = "Memory",
	.summary = "hits and misses of the page cache",
	.uses = ATTAR_USES_INPUT,
	.needs = "perf events, whole system, tracefs, kprobes",
	.options = options,
	.examples = examples,
	.open = cachestat_open,
	.report = cachestat_report,
};
