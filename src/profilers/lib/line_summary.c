/* SPDX-License-Identifier: MIT */
#include "lib/line_summary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/private/keytable.h"
#include "lib/keys.h"

enum { LINES_MIN = 20, TOP = 10, KEYS_MAX = 1 << 14, COMM_BYTES = 16 };

/* Sums and the histogram of a row. */
enum { SUM_LINES, SUM_TIME, SUMS };

struct process_key {
	int64_t pid;
	char comm[COMM_BYTES];
};

int line_summary_init(struct line_summary *s, bool has_times)
{
	const struct attar_keytable_opts opts = {.size = sizeof(opts),
		.sums = SUMS,
		.hists = has_times,
		.key_max = ATTAR_KEY_MAX,
		.keys_max = KEYS_MAX};
	int r = attar_keytable_new(&opts, &s->processes);

	s->has_times = has_times;
	for (size_t i = 0; r == 0 && i < LINE_SUMMARY_THINGS; i++)
		r = attar_keytable_new(&opts, &s->things[i]);
	return r;
}

static int add(const struct line_summary *s, struct attar_keytable *table, const void *key,
	size_t n, uint64_t duration)
{
	struct attar_keyrow *row = attar_keytable_at(table, key, n);

	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_LINES]++;
	row->interval.sums[SUM_TIME] += duration;
	return s->has_times ? attar_hist_add(&row->interval.hists[0], duration) : 0;
}

int line_summary_add(struct line_summary *s, const char *comm, int64_t pid, uint64_t duration)
{
	struct process_key process = {.pid = pid};

	memcpy(process.comm, comm, strnlen(comm, COMM_BYTES - 1));
	s->lines++;
	return add(s, s->processes, &process, sizeof(process), duration);
}

int line_summary_add_thing(
	struct line_summary *s, size_t i, const char *thing, size_t n, uint64_t duration)
{
	return n ? add(s, s->things[i], thing, n < ATTAR_KEY_MAX ? n : ATTAR_KEY_MAX, duration) : 0;
}

static void add_sums(const struct line_summary *s, struct attar_section *table,
	const struct attar_keysums *sums, double seconds)
{
	uint64_t lines = sums->sums[SUM_LINES];

	attar_cell_u64(table, lines);
	attar_cell_double(table, seconds > 0 ? (double)lines / seconds : 0);
	if (!s->has_times)
		return;
	attar_cell_u64(table, sums->sums[SUM_TIME]);
	attar_cell_u64(table, attar_hist_quantile(&sums->hists[0], 0.5));
	attar_cell_u64(table, attar_hist_quantile(&sums->hists[0], 1));
}

static void add_columns(const struct line_summary *s, struct attar_section *table)
{
	attar_section_column(table, "lines", ATTAR_UNIT_COUNT);
	attar_section_column(table, "per second", ATTAR_UNIT_COUNT);
	if (!s->has_times)
		return;
	attar_section_column(table, "total", ATTAR_UNIT_NS);
	attar_section_column(table, "p50", ATTAR_UNIT_NS);
	attar_section_column(table, "max", ATTAR_UNIT_NS);
}

static void add_processes(const struct line_summary *s, struct attar_report *report,
	enum attar_scope scope, double seconds, const char *who)
{
	char name[KEYS_NAME_BYTES + 4];
	struct attar_section *table;
	struct attar_keyrow *rows[TOP];
	size_t n = attar_keytable_top(s->processes, scope, SUM_LINES, rows, TOP);

	snprintf(name, sizeof(name), "by %s", who);
	table = attar_report_table(report, name);
	attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(table, "pid", ATTAR_UNIT_ID);
	add_columns(s, table);
	for (size_t i = 0; i < n; i++) {
		struct process_key key;

		memcpy(&key, rows[i]->key, sizeof(key));
		attar_section_row(table);
		attar_cell_text(table, key.comm);
		if (key.pid < 0)
			attar_cell_none(table);
		else
			attar_cell_u64(table, (uint64_t)key.pid);
		add_sums(s, table, attar_keyrow_sums(rows[i], scope), seconds);
	}
}

static void add_things(const struct line_summary *s, struct attar_report *report,
	enum attar_scope scope, double seconds, const struct attar_keytable *things,
	const char *thing)
{
	struct attar_section *table;
	struct attar_keyrow *rows[TOP];
	size_t n = attar_keytable_top(things, scope, SUM_LINES, rows, TOP);
	char name[KEYS_NAME_BYTES + 4];

	if (!n)
		return;
	snprintf(name, sizeof(name), "by %s", thing);
	table = attar_report_table(report, name);
	attar_section_column(table, thing, ATTAR_UNIT_TEXT);
	add_columns(s, table);
	for (size_t i = 0; i < n; i++) {
		attar_section_row(table);
		keys_add_text(table, rows[i]->key, rows[i]->key_size);
		add_sums(s, table, attar_keyrow_sums(rows[i], scope), seconds);
	}
}

static int end_interval(struct line_summary *s)
{
	int r = attar_keytable_end_interval(s->processes);

	for (size_t i = 0; r == 0 && i < LINE_SUMMARY_THINGS; i++)
		r = attar_keytable_end_interval(s->things[i]);
	s->whole += s->lines;
	s->lines = 0;
	return r;
}

/* The rest of a table that is full has no row here. */
static void remark_evicted(
	struct attar_report *report, const struct attar_keytable *table, const char *what)
{
	struct attar_keytable_stats stats;

	keytable_get_stats(table, &stats);
	if (stats.evicted)
		attar_report_remark(report,
			"the table by %s is full: %llu rows with few lines were removed, and lose "
			"these lines if they return",
			what, (unsigned long long)stats.evicted);
}

int line_summary_report(struct line_summary *s, struct attar_run *run, struct attar_report *report,
	enum attar_scope scope, const char *who, const char *const *things, size_t n)
{
	bool is_whole = scope == ATTAR_SCOPE_WHOLE;
	uint64_t lines = s->lines + (is_whole ? s->whole : 0);
	uint64_t time = is_whole ? attar_run_until(run) - attar_run_began(run) : run_recent(run);
	double seconds = (double)time / 1e9;
	int r = end_interval(s);

	if (r < 0 || lines <= (s->is_wanted ? 0 : LINES_MIN))
		return r;
	add_processes(s, report, scope, seconds, who);
	remark_evicted(report, s->processes, who);
	for (size_t i = 0; i < n; i++) {
		add_things(s, report, scope, seconds, s->things[i], things[i]);
		remark_evicted(report, s->things[i], things[i]);
	}
	return 0;
}

void line_summary_done(struct line_summary *s)
{
	attar_keytable_free(s->processes);
	for (size_t i = 0; i < LINE_SUMMARY_THINGS; i++)
		attar_keytable_free(s->things[i]);
}
