/* SPDX-License-Identifier: MIT */
/* stat: how often events happen, by counting. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "attar/keytable.h"
#include "attar/builtin.h"
#include "lib/ratios.h"

enum { NAME_BYTES = 64 };

struct stat {
	struct attar_texts events;
	uint64_t repeat, period;
	bool detail, line, per_cpu, per_thread, per_socket, perins;

	enum attar_count_by by;
	uint64_t interval;           /* ns, with --period: of the sums of the lines; 0: none */
	uint64_t summed;             /* ns of the periods in sums */
	struct attar_keytable *sums; /* by what the lines are for */
	struct attar_series elapsed, user, system; /* ns, of each run of the command */
};

static const char task_events[] = "task-clock,context-switches,cpu-migrations,page-faults,cycles,"
				  "instructions,branches,branch-misses";
static const char cpu_events[] = "cpu-clock,context-switches,cpu-migrations,page-faults,cycles,"
				 "instructions,branches,branch-misses";
static const char detail_events[] =
	"cache-references,cache-misses,L1-dcache-loads,L1-dcache-load-misses,LLC-loads,"
	"LLC-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,iTLB-load-misses";

/* ---- configuration ---- */

static bool watches_tasks(const struct attar_run *run, const struct stat *s)
{
	return s->per_thread || attar_run_target_kind(run) == ATTAR_TARGET_TASKS;
}

static int choose_key(struct attar_run *run, struct stat *s)
{
	bool by_cgroup = attar_run_target_kind(run) == ATTAR_TARGET_CGROUPS;

	if (s->perins && attar_run_target_kind(run) == ATTAR_TARGET_TASKS)
		s->per_thread = true;
	else if (s->perins && !by_cgroup)
		s->per_cpu = true;
	if (s->per_cpu + s->per_thread + s->per_socket + by_cgroup > 1)
		return attar_fail(-EINVAL, "--per-cpu, --per-thread, --per-socket and --cgroups "
					   "are mutually exclusive");
	if (s->per_thread && s->repeat)
		return attar_fail(-EINVAL,
			"--per-thread conflicts with --repeat: each run has different threads");
	s->by = s->per_cpu      ? ATTAR_COUNT_BY_CPU
		: s->per_thread ? ATTAR_COUNT_BY_THREAD
		: s->per_socket ? ATTAR_COUNT_BY_SOCKET
		: by_cgroup     ? ATTAR_COUNT_BY_CGROUP
				: ATTAR_COUNT_TOTAL;
	return attar_run_count_by(run, s->by);
}

/* Lines are reports of short intervals; reports of --interval are sums of lines. */
static int use_period(struct attar_run *run, struct stat *s)
{
	if (s->repeat)
		return attar_fail(-EINVAL, "--period conflicts with --repeat");
	s->interval = attar_run_interval(run);
	if (s->interval && s->interval < s->period)
		return attar_fail(-EINVAL,
			"--period exceeds --interval, whose sums are those of periods" ATTAR_FIX
			"use a longer --interval, or leave it out");
	s->line = true;
	return run_set_interval(run, s->period);
}

/* What a row of sums is for; the name is the name of a thread. */
struct sum_key {
	int64_t number, tid;
};

static int new_sums(struct attar_run *run, struct stat *s)
{
	struct attar_keytable_opts opts = {
		.size = sizeof(opts), .key_max = sizeof(struct sum_key), .value_size = NAME_BYTES};

	while (attar_run_get_counter(run, opts.sums))
		opts.sums++;
	return attar_keytable_new(&opts, &s->sums);
}

/* Without -e. A recording has its own events. */
static int count_default(struct attar_run *run, const struct stat *s)
{
	if (!attar_run_is_live(run))
		return attar_run_count(run, NULL);
	return attar_run_count(run, watches_tasks(run, s) ? task_events : cpu_events);
}

static int stat_open(struct attar_run *run, void *self)
{
	struct stat *s = self;
	int r = choose_key(run, s);

	if (r == 0 && s->period)
		r = use_period(run, s);
	if (r == 0 && s->line && !attar_run_interval(run))
		r = attar_fail(-EINVAL,
			"--line prints one line per interval, so it requires --interval" ATTAR_FIX
			"add --interval");
	if (r == 0 && s->repeat)
		r = run_repeat(run, s->repeat);
	if (r == 0 && !s->events.n)
		r = count_default(run, s);
	for (size_t i = 0; r == 0 && i < s->events.n; i++)
		r = attar_run_count(run, s->events.at[i]);
	if (r == 0 && s->detail && (s->events.n || attar_run_is_live(run)))
		r = attar_run_count(run, detail_events);
	return r < 0 || !s->interval ? r : new_sums(run, s);
}

/* ---- counting ---- */

static int stat_ended(struct attar_run *run, void *self)
{
	struct stat *s = self;
	uint64_t user, system;

	attar_series_add(&s->elapsed, (double)run_elapsed(run));
	if (run_command_times(run, &user, &system) == 0) {
		attar_series_add(&s->user, (double)user);
		attar_series_add(&s->system, (double)system);
	}
	return 0;
}

/* ---- reports ---- */

/* A table that is being drawn: one interval, or the mean of all runs. */
struct drawing {
	struct attar_run *run;
	const struct stat *s;
	const struct attar_count_row *rows;
	size_t n_rows, n_events;
	struct attar_section *section;
	uint64_t elapsed;
	bool mean;
};

/* Events that only occur in the kernel are never counted without permission to watch it. */
static bool is_hidden(const struct attar_run_counter *c)
{
	const struct attar_event_spec *spec = c->spec;

	return c->counter && attar_counter_attr(c->counter)->exclude_kernel &&
	       !spec->exclude_kernel && spec->type == PERF_TYPE_SOFTWARE &&
	       (spec->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		       spec->config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

static bool is_known(const struct attar_run_counter *c, const struct attar_count *count)
{
	const struct attar_value *v = &count->sum;

	return !count->is_unknown && !c->refused && !is_hidden(c) &&
	       v->quality != ATTAR_QUALITY_NOT_COUNTED && v->quality != ATTAR_QUALITY_ERROR;
}

static const char *quality(const struct attar_run_counter *c, const struct attar_count *count)
{
	if (is_hidden(c) || (c->refused && (c->error == -EACCES || c->error == -EPERM)))
		return "not permitted";
	if (c->refused)
		return "not supported";
	return count->is_unknown ? "not known" : attar_quality_name(count->sum.quality);
}

static double value_of(const struct drawing *d, const struct attar_count *count)
{
	return d->mean ? count->runs.mean : (double)count->sum.value;
}

static void add_value(
	const struct drawing *d, const struct attar_run_counter *c, const struct attar_count *count)
{
	if (!is_known(c, count))
		attar_cell_none(d->section);
	else if (c->spec->scale == 1 && !(d->mean && count->runs.n > 1))
		attar_cell_u64(d->section, count->sum.value);
	else
		attar_cell_double(d->section, value_of(d, count) * c->spec->scale);
}

static void add_deviation(
	const struct drawing *d, const struct attar_run_counter *c, const struct attar_count *count)
{
	if (is_known(c, count) && count->runs.n > 1)
		attar_cell_double(d->section, attar_series_deviation(&count->runs));
	else
		attar_cell_none(d->section);
}

/* The event's name with its filter: SYSTEM:NAME/FILTER/. NULL if out of memory; to be freed. */
static char *name_of(const struct attar_run_counter *c, const char *suffix)
{
	const char *filter = c->spec->alias ? NULL : c->spec->filter, *slash = filter ? "/" : "";
	char *name;

	if (asprintf(&name, "%s%s%s%s%s", c->name, slash, filter ? filter : "", slash, suffix) < 0)
		return NULL;
	return name;
}

static void add_name(const struct drawing *d, const struct attar_run_counter *c)
{
	const struct perf_event_attr *attr = c->counter ? attar_counter_attr(c->counter) : NULL;
	bool user_only = attr && attr->exclude_kernel && !c->spec->exclude_kernel &&
			 !attar_attr_is_clock(attr);
	char *name = name_of(c, user_only ? ":u" : "");

	attar_cell_text(d->section, name ? name : c->name);
	free(name);
}

static void add_ratio(const struct drawing *d, const struct ratio_count *counts, size_t n, size_t i)
{
	struct ratio ratio = ratio_of(counts, n, i, d->elapsed);

	if (ratio.of)
		attar_cell_double(d->section, ratio.value);
	else
		attar_cell_none(d->section);
	attar_cell_text(d->section, ratio.of ? ratio.of : "");
}

static void add_thread(const struct drawing *d, const struct attar_count_row *row)
{
	attar_cell_text(d->section, row->comm);
	if (row->tid)
		attar_cell_u64(d->section, (uint64_t)row->tid);
	else
		attar_cell_none(d->section);
}

static void add_key(const struct drawing *d, const struct attar_count_row *row)
{
	if (d->s->by == ATTAR_COUNT_BY_THREAD)
		add_thread(d, row);
	else if (d->s->by == ATTAR_COUNT_BY_CGROUP)
		attar_cell_text(d->section, attar_run_cgroup(d->run, row->number));
	else if (d->s->by != ATTAR_COUNT_TOTAL && row->number < 0) /* of a thread in a recording */
		attar_cell_none(d->section);
	else if (d->s->by != ATTAR_COUNT_TOTAL)
		attar_cell_u64(d->section, (uint64_t)row->number);
}

static void key_columns(struct attar_section *section, enum attar_count_by by)
{
	if (by == ATTAR_COUNT_BY_CPU)
		attar_section_column(section, "cpu", ATTAR_UNIT_ID);
	if (by == ATTAR_COUNT_BY_SOCKET)
		attar_section_column(section, "socket", ATTAR_UNIT_ID);
	if (by == ATTAR_COUNT_BY_CGROUP)
		attar_section_column(section, "cgroup", ATTAR_UNIT_TEXT);
	if (by == ATTAR_COUNT_BY_THREAD) {
		attar_section_column(section, "comm", ATTAR_UNIT_TEXT);
		attar_section_column(section, "tid", ATTAR_UNIT_ID);
	}
}

static void columns(const struct drawing *d)
{
	key_columns(d->section, d->s->by);
	attar_section_column(d->section, "value", ATTAR_UNIT_COUNT);
	attar_section_column(d->section, "unit", ATTAR_UNIT_TEXT);
	attar_section_column(d->section, "event", ATTAR_UNIT_TEXT);
	if (d->s->repeat)
		attar_section_column(d->section, "deviation", ATTAR_UNIT_PERCENT);
	attar_section_column(d->section, "ratio", ATTAR_UNIT_COUNT);
	attar_section_column(d->section, "meaning", ATTAR_UNIT_TEXT);
	attar_section_column(d->section, "counted", ATTAR_UNIT_PERCENT);
	attar_section_column(d->section, "quality", ATTAR_UNIT_TEXT);
}

/* The percentage of the time during which the event was on a hardware counter. */
static void add_counted(const struct drawing *d, const struct attar_value *v)
{
	if (v->time_enabled)
		attar_cell_double(
			d->section, 100 * (double)v->time_running / (double)v->time_enabled);
	else
		attar_cell_none(d->section);
}

static void add_row(const struct drawing *d, const struct attar_count_row *row,
	const struct ratio_count *counts, size_t i)
{
	const struct attar_run_counter *c = attar_run_get_counter(d->run, i);
	const struct attar_count *count = &row->counts[i];

	attar_section_row(d->section);
	add_key(d, row);
	add_value(d, c, count);
	attar_cell_text(d->section, c->spec->unit);
	add_name(d, c);
	if (d->s->repeat)
		add_deviation(d, c, count);
	add_ratio(d, counts, d->n_events, i);
	add_counted(d, &count->sum);
	attar_cell_text(d->section, quality(c, count));
}

static void fill_ratio_counts(
	const struct drawing *d, const struct attar_count_row *row, struct ratio_count *counts)
{
	for (size_t i = 0; i < d->n_events; i++) {
		const struct attar_run_counter *c = attar_run_get_counter(d->run, i);
		const struct perf_event_attr *attr =
			c->counter ? attar_counter_attr(c->counter) : NULL;

		counts[i] = (struct ratio_count){.spec = c->spec,
			.value = value_of(d, &row->counts[i]),
			.known = is_known(c, &row->counts[i]),
			.all_code = attr && !attr->exclude_kernel && !attr->exclude_user};
	}
}

static int stat_draw(struct drawing *d, struct attar_report *report)
{
	struct ratio_count *counts = calloc(d->n_events + 1, sizeof(*counts));

	if (!counts)
		return attar_fail(-ENOMEM, "out of memory");
	d->section = attar_report_table(report, "counts");
	columns(d);
	for (size_t r = 0; r < d->n_rows; r++) {
		fill_ratio_counts(d, &d->rows[r], counts);
		for (size_t i = 0; i < d->n_events; i++)
			add_row(d, &d->rows[r], counts, i);
	}
	free(counts);
	return 0;
}

/* The times of the command. */
static void draw_times(const struct stat *s, struct attar_report *report)
{
	struct attar_section *section;

	if (!s->user.n)
		return;
	section = attar_report_table(report, "command");
	attar_section_column(section, "elapsed", ATTAR_UNIT_NS);
	if (s->repeat)
		attar_section_column(section, "deviation", ATTAR_UNIT_PERCENT);
	attar_section_column(section, "user", ATTAR_UNIT_NS);
	attar_section_column(section, "system", ATTAR_UNIT_NS);
	attar_section_column(section, "runs", ATTAR_UNIT_COUNT);
	attar_section_row(section);
	attar_cell_double(section, s->elapsed.mean);
	if (s->repeat)
		attar_cell_double(section, attar_series_deviation(&s->elapsed));
	attar_cell_double(section, s->user.mean);
	attar_cell_double(section, s->system.mean);
	attar_cell_u64(section, s->elapsed.n);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int add_sums(const struct drawing *d)
{
	for (const struct attar_count_row *row = d->rows; row < d->rows + d->n_rows; row++) {
		const struct sum_key key = {row->number, row->tid};
		struct attar_keyrow *sums = attar_keytable_at(d->s->sums, &key, sizeof(key));

		if (!sums)
			return -ENOMEM;
		for (size_t i = 0; i < d->n_events; i++)
			sums->interval.sums[i] += row->counts[i].sum.value;
		if (row->comm)
			snprintf(sums->value, NAME_BYTES, "%s", row->comm);
	}
	return 0;
}

/* row NULL: nothing has happened. */
static void add_sum_row(const struct drawing *d, const struct attar_keyrow *row)
{
	struct attar_count_row of = {.comm = row && row->key ? row->value : "[others]"};
	const struct attar_run_counter *c;
	struct sum_key key = {.number = -1};

	if (row && row->key)
		memcpy(&key, row->key, sizeof(key));
	of.number = key.number;
	of.tid = (pid_t)key.tid;
	attar_section_row(d->section);
	add_key(d, &of);
	for (size_t i = 0; (c = attar_run_get_counter(d->run, i)); i++)
		if (c->refused)
			attar_cell_none(d->section);
		else
			attar_cell_u64(d->section, row ? row->interval.sums[i] : 0);
}

static void event_columns(const struct drawing *d)
{
	const struct attar_run_counter *c;

	key_columns(d->section, d->s->by);
	for (size_t i = 0; (c = attar_run_get_counter(d->run, i)); i++) {
		char *name = name_of(c, "");

		attar_section_column(d->section, name ? name : c->name, ATTAR_UNIT_COUNT);
		free(name);
	}
}

/* The sums of the lines since the previous sums. */
static int draw_sums(struct drawing *d, struct stat *s, struct attar_report *report)
{
	struct attar_keyrow **rows;
	size_t n;
	int r = attar_keytable_end_interval(s->sums);

	if (r == 0)
		r = attar_keytable_rows(s->sums, ATTAR_SCOPE_INTERVAL, 0, &rows, &n);
	if (r < 0)
		return r;
	d->section = attar_report_table(report, "sums");
	event_columns(d);
	for (size_t i = 0; i < n; i++)
		add_sum_row(d, rows[i]);
	if (!n && s->by == ATTAR_COUNT_TOTAL)
		add_sum_row(d, NULL);
	free(rows);
	s->summed = 0;
	return 0;
}

/* --line: one line for each interval, with a column for each event. */
static int draw_lines(struct drawing *d, struct attar_report *report)
{
	uint64_t now = attar_run_realtime(d->run, now_ns());
	const struct attar_run_counter *c;

	d->section = attar_report_events(report, "counts");
	attar_section_column(d->section, "time", ATTAR_UNIT_TIME);
	event_columns(d);
	for (const struct attar_count_row *row = d->rows; row < d->rows + d->n_rows; row++) {
		attar_section_row(d->section);
		attar_cell_u64(d->section, now);
		add_key(d, row);
		for (size_t i = 0; (c = attar_run_get_counter(d->run, i)); i++)
			add_value(d, c, &row->counts[i]);
	}
	return 0;
}

/* Lines, and after the lines of an interval, or the last ones, their sums. */
static int draw_period(struct drawing *d, struct stat *s, struct attar_report *report)
{
	int r = draw_lines(d, report);
	uint64_t time;

	if (r < 0 || !s->interval)
		return r;
	s->summed += d->elapsed;
	r = add_sums(d);
	if (r < 0 || (s->summed + s->period / 2 < s->interval && !attar_run_ended(d->run)))
		return r;
	attar_report_get_interval(report, &time, NULL);
	attar_report_interval(report, time, s->summed); /* the heading shows the time of the sums */
	return draw_sums(d, s, report);
}

static int stat_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct stat *s = self;
	struct drawing d = {.run = run, .s = s, .mean = scope == ATTAR_SCOPE_WHOLE};
	int r = attar_run_count_rows(run, scope, &d.rows, &d.n_rows);

	if (r < 0)
		return r;
	while (attar_run_get_counter(run, d.n_events))
		d.n_events++;
	d.elapsed = d.mean ? (uint64_t)s->elapsed.mean : run_recent(run);
	if (s->line && !d.mean)
		return draw_period(&d, s, report);
	r = stat_draw(&d, report);
	if (d.mean)
		draw_times(s, report);
	return r;
}

static void stat_close(void *self)
{
	attar_keytable_free(((struct stat *)self)->sums);
}

static const struct attar_option options[] = {
	ATTAR_LIST(struct stat, events, 'e', "event", "EVENTS",
		"count these events, separated by commas; {a,b} is a group (default: a standard "
		"set); may be repeated",
		.complete = "event"),
	ATTAR_FLAG(struct stat, detail, 0, "detail", "also count cache and TLB events"),
	ATTAR_COUNT(struct stat, repeat, 'r', "repeat", "N",
		"run the command N times and report means and deviations", .min = 1,
		.max = 1000000),
	ATTAR_FLAG(struct stat, per_cpu, 0, "per-cpu", "report each CPU separately"),
	ATTAR_FLAG(struct stat, per_thread, 0, "per-thread",
		"report each thread separately; the row [unassigned] has counts of unknown "
		"threads"),
	ATTAR_FLAG(struct stat, per_socket, 0, "per-socket",
		"report each processor socket separately"),
	ATTAR_FLAG(struct stat, line, 0, "line",
		"with -i: print one line per interval, with one column per event"),
	ATTAR_TIME(struct stat, period, 0, "period", "TIME",
		"print a line for each period: nanoseconds, or with a unit: 10ms (as -i TIME "
		"--line); with -i, also the sums of each interval",
		.bare = 1, .min = 1000000),
	/* as in other profilers */
	ATTAR_FLAG(struct stat, perins, 0, "perins", "as --per-thread, or --per-cpu without tasks"),
	{0}};

static const struct attar_example examples[] = {
	{"stat -- make -j4", "time, faults, cycles, instructions and misses of a command"},
	{"stat -r 10 -- ./bench", "means and deviations of ten runs"},
	{"stat -d 5s --per-cpu", "the whole system for five seconds, per CPU"},
	{"stat -e '{cycles,instructions}:u,page-faults' -p 1234 -i 1s",
		"one process, every second; the group counts both events at the same time"},
	{"stat -e sched:sched_switch,irq:softirq_entry --period 10ms -d 1s",
		"the distribution of events over time, in steps of 10 ms"},
	{0}};

const struct attar_profiler profiler_stat = {
	.name = "stat",
	.group = "Counting",
	.summary = "counts of events and their ratios: IPC, GHz, miss rates",
	.uses = ATTAR_USES_INPUT,
	.needs = "perf events, whole system, hardware counters",
	.self_size = sizeof(struct stat),
	.options = options,
	.examples = examples,
	.open = stat_open,
	.close = stat_close,
	.ended = stat_ended,
	.report = stat_report,
};
