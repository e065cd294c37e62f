/* SPDX-License-Identifier: MIT */
/* stat: how often events happen, by counting. */
#include <stdio.h>

#include "attar/run.h"
#include "base/buf.h"
#include "base/file.h"
#include "profilers/ratios.h"
#include "profilers/threadcounts.h"
#include "run/run.h"
#include "stats/counter_table.h"

/* The aggregation key of counts. */
enum by { BY_NOTHING, BY_CPU, BY_THREAD, BY_SOCKET, BY_CGROUP };

struct stat {
	struct attar_texts events;
	uint64_t repeat;
	bool detail, line, per_cpu, per_thread, per_socket;

	enum by by;
	struct counter_table whole; /* from start to end, of each run of the command */
	struct attar_series elapsed, user, system; /* ns, of the same */
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
	return s->per_thread || !(run->opts.cgroups || run_watches_system(run));
}

/* Logs why --per-thread cannot separate some threads. */
static void note_threads(const struct attar_run *run)
{
	if (exited_threads_reported(run) || run->opts.tids)
		return;
	log_note("--per-thread: threads created during the run are counted with their creators%s",
		run->opts.interval        ? ": --interval does not allow separate counts"
		: run_watches_system(run) ? ""
		: run->opts.cpus          ? ": --cpus does not allow separate counts"
					  : ": separate counts require Linux 6.12 or newer");
}

static int choose_key(struct attar_run *run, struct stat *s)
{
	if (s->per_cpu + s->per_thread + s->per_socket + (run->opts.cgroups != NULL) > 1)
		return attar_fail(-EINVAL, "--per-cpu, --per-thread, --per-socket and --cgroups "
					   "are mutually exclusive");
	if (s->per_thread && s->repeat)
		return attar_fail(-EINVAL,
			"--per-thread conflicts with --repeat: each run has different threads");
	s->by = s->per_cpu          ? BY_CPU
		: s->per_thread     ? BY_THREAD
		: s->per_socket     ? BY_SOCKET
		: run->opts.cgroups ? BY_CGROUP
				    : BY_NOTHING;
	if (s->by == BY_CPU || s->by == BY_SOCKET)
		attar_run_count_each_cpu(run);
	if (s->by == BY_THREAD) {
		run_count_each_thread(run);
		note_threads(run);
	}
	return 0;
}

static int stat_open(struct attar_run *run, void *self)
{
	struct stat *s = self;
	int r = choose_key(run, s);

	if (r == 0 && s->line && !run->opts.interval)
		r = attar_fail(-EINVAL, "--line needs --interval: it prints one line per interval");
	if (r == 0 && s->repeat)
		r = attar_run_repeat(run, s->repeat);
	if (r == 0 && !s->events.n)
		r = attar_run_count(run, watches_tasks(run, s) ? task_events : cpu_events);
	for (size_t i = 0; r == 0 && i < s->events.n; i++)
		r = attar_run_count(run, s->events.at[i]);
	if (r == 0 && s->detail)
		r = attar_run_count(run, detail_events);
	return r;
}

/* ---- counting ---- */

static int socket_of(int cpu)
{
	char path[96];
	int64_t socket = 0;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/physical_package_id",
		cpu);
	return file_read_i64(path, &socket) < 0 ? 0 : (int)socket;
}

static int key_of(const struct stat *s, const struct attar_counter_instance *instance)
{
	switch (s->by) {
	case BY_CPU:
		return instance->cpu;
	case BY_THREAD:
		return instance->tid;
	case BY_SOCKET:
		return socket_of(instance->cpu);
	case BY_CGROUP:
		return instance->cgroup;
	default:
		return 0;
	}
}

/* Adds all counters to the cells of their keys. recent: counts since the previous report. */
static int fill(struct attar_run *run, const struct stat *s, struct counter_table *t, bool recent)
{
	const struct attar_run_counter *c;

	for (t->n_events = 0; attar_run_get_counter(run, t->n_events);)
		t->n_events++;
	for (size_t i = 0; (c = attar_run_get_counter(run, i)); i++)
		for (size_t p = 0; p < c->n_instances; p++) {
			struct attar_counter_instance instance =
				attar_counter_instance_at(c->counter, p);
			struct counter_table_key *key = counter_table_key(t, key_of(s, &instance));

			if (!key)
				return base_oom();
			attar_value_add(&key->cells[i].sum, recent ? &c->recent[p] : &c->values[p]);
		}
	if (!recent && s->by == BY_THREAD && thread_counts_fill(run, t) < 0)
		return -ENOMEM;
	thread_counts_mark(run, t, s->by == BY_THREAD);
	return 0;
}

static int stat_ended(struct attar_run *run, void *self)
{
	struct counter_table once = {0};
	struct stat *s = self;
	uint64_t user, system;
	int r = fill(run, s, &once, false);

	if (r == 0)
		r = counter_table_merge(&s->whole, &once);
	counter_table_done(&once);
	attar_series_add(&s->elapsed, (double)attar_run_elapsed(run));
	if (attar_run_command_times(run, &user, &system) == 0) {
		attar_series_add(&s->user, (double)user);
		attar_series_add(&s->system, (double)system);
	}
	return r;
}

/* ---- reports ---- */

/* A table that is being drawn: one interval, or the mean of all runs. */
struct drawing {
	struct attar_run *run;
	const struct stat *s;
	const struct counter_table *table;
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

static bool is_known(const struct attar_run_counter *c, const struct counter_cell *cell)
{
	const struct attar_value *v = &cell->sum;

	return !cell->is_unknown && !c->refused && !is_hidden(c) &&
	       v->quality != ATTAR_QUALITY_NOT_COUNTED && v->quality != ATTAR_QUALITY_ERROR;
}

static const char *quality(const struct drawing *d, size_t i, const struct counter_cell *cell)
{
	const struct attar_run_counter *c = attar_run_get_counter(d->run, i);
	int error = d->run->counts.at[i].error;

	if (is_hidden(c) || (c->refused && (error == -EACCES || error == -EPERM)))
		return "not permitted";
	if (c->refused)
		return "not supported";
	return cell->is_unknown ? "not known" : attar_quality_name(cell->sum.quality);
}

static double value_of(const struct drawing *d, const struct counter_cell *cell)
{
	return d->mean ? cell->runs.mean : (double)cell->sum.value;
}

static void add_value(
	const struct drawing *d, const struct attar_run_counter *c, const struct counter_cell *cell)
{
	if (!is_known(c, cell))
		attar_cell_none(d->section);
	else if (c->spec->scale == 1 && !(d->mean && cell->runs.n > 1))
		attar_cell_u64(d->section, cell->sum.value);
	else
		attar_cell_double(d->section, value_of(d, cell) * c->spec->scale);
}

static void add_deviation(
	const struct drawing *d, const struct attar_run_counter *c, const struct counter_cell *cell)
{
	if (is_known(c, cell) && cell->runs.n > 1)
		attar_cell_double(d->section, attar_series_deviation(&cell->runs));
	else
		attar_cell_none(d->section);
}

static void add_name(const struct drawing *d, const struct attar_run_counter *c)
{
	bool user_only = c->counter && attar_counter_attr(c->counter)->exclude_kernel &&
			 !c->spec->exclude_kernel;
	char name[256];

	snprintf(name, sizeof(name), "%s%s", c->name, user_only ? ":u" : "");
	attar_cell_text(d->section, name);
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

/* If the command exited before its name was read, its program name is used. */
static void add_thread(const struct drawing *d, int number)
{
	const char *comm;
	pid_t tid = thread_counts_name(d->run, number, &comm);

	if (!comm)
		comm = d->run->command ? basename(d->run->command[0]) : "";
	attar_cell_text(d->section, comm);
	if (tid)
		attar_cell_u64(d->section, (uint64_t)tid);
	else
		attar_cell_none(d->section);
}

static void add_key(const struct drawing *d, const struct counter_table_key *key)
{
	if (d->s->by == BY_THREAD)
		add_thread(d, key->number);
	else if (d->s->by == BY_CGROUP)
		attar_cell_text(d->section, attar_run_cgroup(d->run, key->number));
	else if (d->s->by != BY_NOTHING)
		attar_cell_u64(d->section, (uint64_t)key->number);
}

static void key_columns(struct attar_section *section, enum by by)
{
	if (by == BY_CPU)
		attar_section_column(section, "cpu", ATTAR_UNIT_ID);
	if (by == BY_SOCKET)
		attar_section_column(section, "socket", ATTAR_UNIT_ID);
	if (by == BY_CGROUP)
		attar_section_column(section, "cgroup", ATTAR_UNIT_TEXT);
	if (by == BY_THREAD) {
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

static void add_row(const struct drawing *d, const struct counter_table_key *key,
	const struct ratio_count *counts, size_t i)
{
	const struct attar_run_counter *c = attar_run_get_counter(d->run, i);
	const struct counter_cell *cell = &key->cells[i];

	attar_section_row(d->section);
	add_key(d, key);
	add_value(d, c, cell);
	attar_cell_text(d->section, c->spec->unit);
	add_name(d, c);
	if (d->s->repeat)
		add_deviation(d, c, cell);
	add_ratio(d, counts, d->table->n_events, i);
	add_counted(d, &cell->sum);
	attar_cell_text(d->section, quality(d, i, cell));
}

static void fill_ratio_counts(
	const struct drawing *d, const struct counter_table_key *key, struct ratio_count *counts)
{
	for (size_t i = 0; i < d->table->n_events; i++) {
		const struct attar_run_counter *c = attar_run_get_counter(d->run, i);
		const struct perf_event_attr *attr =
			c->counter ? attar_counter_attr(c->counter) : NULL;

		counts[i] = (struct ratio_count){.spec = c->spec,
			.value = value_of(d, &key->cells[i]),
			.known = is_known(c, &key->cells[i]),
			.all_code = attr && !attr->exclude_kernel && !attr->exclude_user};
	}
}

static int draw(struct drawing *d, struct attar_report *report)
{
	struct ratio_count *counts = calloc(MAX(d->table->n_events, (size_t)1), sizeof(*counts));

	if (!counts)
		return base_oom();
	d->section = attar_report_table(report, "counts");
	columns(d);
	vec_each (&d->table->keys, key) {
		fill_ratio_counts(d, key, counts);
		for (size_t i = 0; i < d->table->n_events; i++)
			add_row(d, key, counts, i);
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

/* --line: one line for each interval, with a column for each event. */
static int draw_lines(struct drawing *d, struct attar_report *report)
{
	uint64_t now = attar_run_realtime(d->run, base_now());
	const struct attar_run_counter *c;

	d->section = attar_report_events(report, "counts");
	attar_section_column(d->section, "time", ATTAR_UNIT_TIME);
	key_columns(d->section, d->s->by);
	for (size_t i = 0; (c = attar_run_get_counter(d->run, i)); i++)
		attar_section_column(d->section, c->name, ATTAR_UNIT_COUNT);
	vec_each (&d->table->keys, key) {
		attar_section_row(d->section);
		attar_cell_u64(d->section, now);
		add_key(d, key);
		for (size_t i = 0; (c = attar_run_get_counter(d->run, i)); i++)
			add_value(d, c, &key->cells[i]);
	}
	return 0;
}

static int report_recent(struct attar_run *run, const struct stat *s, struct attar_report *report)
{
	struct counter_table recent = {0};
	struct drawing d = {.run = run, .s = s, .table = &recent};
	int r = fill(run, s, &recent, true);

	d.elapsed = attar_run_recent(run);
	if (r == 0)
		r = s->line ? draw_lines(&d, report) : draw(&d, report);
	counter_table_done(&recent);
	return r;
}

static int stat_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct stat *s = self;
	struct drawing d = {.run = run, .s = s, .table = &s->whole, .mean = true};
	int r;

	if (scope == ATTAR_SCOPE_INTERVAL)
		return report_recent(run, s, report);
	d.elapsed = (uint64_t)s->elapsed.mean;
	r = draw(&d, report);
	draw_times(s, report);
	return r;
}

static void stat_close(void *self)
{
	struct stat *s = self;

	counter_table_done(&s->whole);
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
	{0}};

static const struct attar_example examples[] = {
	{"stat -- make -j4", "time, faults, cycles, instructions and misses of a command"},
	{"stat -r 10 -- ./bench", "means and deviations of ten runs"},
	{"stat -d 5s --per-cpu", "the whole system for five seconds, per CPU"},
	{"stat -e '{cycles,instructions}:u,page-faults' -p 1234 -i 1s",
		"one process, every second; the group makes the IPC exact"},
	{"stat -e sched:sched_switch,irq:softirq_entry -i 10 --line -d 1s",
		"how events are distributed over time, in steps of 10 ms"},
	{0}};

const struct attar_profiler profiler_stat = {
	.name = "stat",
	.group = "Counting",
	.summary = "how often events happen, and ratios between them: IPC, GHz, miss rates",
	.needs = "perf events, whole system, hardware counters",
	.self_size = sizeof(struct stat),
	.options = options,
	.examples = examples,
	.open = stat_open,
	.ended = stat_ended,
	.report = stat_report,
	.close = stat_close,
};
