/* SPDX-License-Identifier: MIT */
/* sched-migrate: how often tasks move between CPUs, and whether they keep their caches. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/held_command.h"
#include "lib/keys.h"

enum { DEPTH_MAX = 127, CACHES_MAX = 16 };
enum { ALL, L2, LLC, UNKNOWN, SUMS }; /* UNKNOWN: of CPUs whose caches are not known */

enum { TOPOLOGY_L2, TOPOLOGY_LLC, TOPOLOGY_LEVELS }; /* LLC: the cache of the highest level */

/* Which CPUs share caches, from sysfs. A topology that is zeroed is unknown. */
struct topology {
	size_t n; /* CPUs */
	/* By CPU: the first CPU that shares its cache; -1: unknown. Owned. */
	int *of[TOPOLOGY_LEVELS];
};

struct sched_migrate {
	const char *filter;
	bool detail, graph;

	char *event;
	struct attar_input input;
	struct topology topology;
	struct held_command held;
	struct attar_keytable *tasks, *pairs; /* by thread, by CPU and CPU */
	bool takes_stacks;                    /* for -g, or for outputs that are made for trees */
	struct attar_stacks *stacks;          /* NULL: not taken */
};

/* ---- caches ---- */

/* Reads a line of /sys/devices/system/cpu/cpuN/cache/indexI/NAME. False: there is none. */
static bool read_cache(size_t cpu, int index, const char *name, char *ret_text, int max)
{
	char path[128];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%zu/cache/index%d/%s", cpu, index,
		name);
	file = fopen(path, "re");
	ok = file && fgets(ret_text, max, file);
	if (file)
		fclose(file);
	return ok;
}

static void read_cpu(struct topology *t, size_t cpu)
{
	int last = 0;
	char text[4096];

	for (int i = 0; i < CACHES_MAX && read_cache(cpu, i, "level", text, sizeof(text)); i++) {
		int level = atoi(text);

		if (!read_cache(cpu, i, "type", text, sizeof(text)) || *text == 'I' ||
			!read_cache(cpu, i, "shared_cpu_list", text, sizeof(text)))
			continue; /* instructions only, or unknown */
		if (level == 2)
			t->of[TOPOLOGY_L2][cpu] = atoi(text);
		if (level >= last) {
			t->of[TOPOLOGY_LLC][cpu] = atoi(text);
			last = level;
		}
	}
}

/* 0 or -ENOMEM. */
static int topology_read(struct topology *t)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t n = cpus > 0 ? (size_t)cpus : 1;

	for (int level = 0; level < TOPOLOGY_LEVELS; level++) {
		t->of[level] = malloc(n * sizeof(int));
		if (!t->of[level])
			return attar_fail(-ENOMEM, "out of memory");
		memset(t->of[level], 0xff, n * sizeof(int)); /* -1 */
	}
	t->n = n;
	for (size_t cpu = 0; cpu < n; cpu++)
		read_cpu(t, cpu);
	return 0;
}

static void topology_done(struct topology *t)
{
	for (int level = 0; level < TOPOLOGY_LEVELS; level++)
		free(t->of[level]);
}

/* Whether two CPUs share the cache of a level: 1, 0, or -1 if it is unknown. */
static int topology_shares(const struct topology *t, int level, size_t a, size_t b)
{
	if (a >= t->n || b >= t->n || t->of[level][a] < 0 || t->of[level][b] < 0)
		return -1;
	return t->of[level][a] == t->of[level][b];
}

/* ---- events ---- */

enum { PID, COMM, ORIG_CPU, DEST_CPU };

static int add(
	const struct sched_migrate *m, const struct attar_event *ev, struct attar_keyrow *row)
{
	size_t orig = attar_arg_u64(ev, ORIG_CPU), dest = attar_arg_u64(ev, DEST_CPU);
	int llc = topology_shares(&m->topology, TOPOLOGY_LLC, orig, dest);

	if (!row)
		return -ENOMEM;
	row->interval.sums[ALL]++;
	row->interval.sums[L2] += topology_shares(&m->topology, TOPOLOGY_L2, orig, dest) == 1;
	row->interval.sums[LLC] += llc == 1;
	row->interval.sums[UNKNOWN] += llc < 0;
	return 0;
}

static int on_migrate(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct sched_migrate *m = self;
	pid_t tid = (pid_t)attar_arg_i64(ev, PID);
	uint64_t pair = attar_arg_u64(ev, ORIG_CPU) << 32 | (uint32_t)attar_arg_u64(ev, DEST_CPU);
	struct keys_thread key;
	struct attar_thread *thread = attar_run_thread(run, tid);
	attar_location locations[DEPTH_MAX];
	size_t n;
	const char *comm = attar_arg_text(ev, COMM, &n);
	int r;

	if (!attar_run_is_selected(run, thread) || held_command_is(&m->held, run, tid)) {
		attar_run_pass_over(run);
		return 0;
	}
	key = keys_make_thread(thread, tid, comm, n);
	r = add(m, ev, attar_keytable_at(m->tasks, &key, sizeof(key)));
	if (r == 0)
		r = add(m, ev, attar_keytable_at_u64(m->pairs, pair));
	if (r == 0 && m->stacks)
		r = attar_stacks_add(m->stacks, ev->thread, locations,
			attar_event_stack(ev, locations, DEPTH_MAX), 1);
	return r;
}

static int on_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	held_command_ends(&((struct sched_migrate *)self)->held, run, ev);
	return 0;
}

/* ---- reporting ---- */

static void sum_columns(struct attar_section *table)
{
	attar_section_column(table, "migrations", ATTAR_UNIT_COUNT);
	attar_section_column(table, "same L2", ATTAR_UNIT_PERCENT);
	attar_section_column(table, "same LLC", ATTAR_UNIT_PERCENT);
}

static void add_share(struct attar_section *table, uint64_t part, uint64_t of)
{
	if (of)
		attar_cell_double(table, 100 * (double)part / (double)of);
	else
		attar_cell_none(table);
}

/* Shares are shares of the migrations between CPUs whose caches are known. */
static void add_sums(struct attar_section *table, const uint64_t *sums)
{
	uint64_t known = sums[ALL] - sums[UNKNOWN];

	attar_cell_u64(table, sums[ALL]);
	add_share(table, sums[L2], known);
	add_share(table, sums[LLC], known);
}

static void add_pair(struct attar_section *table, const struct attar_keyrow *row)
{
	attar_cell_u64(table, row->number >> 32);
	attar_cell_u64(table, (uint32_t)row->number);
}

static int add_rows(struct attar_section *table, struct attar_keytable *of, enum attar_scope scope,
	void (*add_key)(struct attar_section *table, const struct attar_keyrow *row),
	uint64_t *total)
{
	struct attar_keyrow **rows;
	size_t n;
	int r = attar_keytable_rows(of, scope, ALL, &rows, &n);

	if (r < 0)
		return r;
	sum_columns(table);
	for (size_t i = 0; i < n; i++) {
		const uint64_t *sums = attar_keyrow_sums(rows[i], scope)->sums;

		attar_section_row(table);
		add_key(table, rows[i]);
		add_sums(table, sums);
		for (int k = 0; total && k < SUMS; k++)
			total[k] += sums[k];
	}
	free(rows);
	return 0;
}

static int sched_migrate_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct sched_migrate *m = self;
	const struct attar_stacks_opts by_migrations = {
		.size = sizeof(by_migrations), .weight = "migrations", .for_trees = !m->graph};
	struct attar_section *total = attar_report_table(report, "migrations"), *table;
	uint64_t sums[SUMS] = {0};
	int r = attar_keytable_end_interval(m->tasks);

	if (r == 0)
		r = attar_keytable_end_interval(m->pairs);
	if (r < 0)
		return r;
	table = attar_report_table(report, "tasks");
	keys_add_thread_columns(table);
	r = add_rows(table, m->tasks, scope, keys_add_thread, sums);
	sum_columns(total);
	attar_section_row(total);
	add_sums(total, sums);
	if (sums[UNKNOWN])
		attar_report_remark(report,
			"migrations between CPUs without cache information in sysfs, omitted from "
			"the shares: %llu",
			(unsigned long long)sums[UNKNOWN]);
	if (r == 0 && m->detail) {
		table = attar_report_table(report, "cpus");
		attar_section_column(table, "from", ATTAR_UNIT_ID);
		attar_section_column(table, "to", ATTAR_UNIT_ID);
		r = add_rows(table, m->pairs, scope, add_pair, NULL);
	}
	attar_report_evicted(report, m->tasks, "threads");
	return r < 0 ? r : attar_run_stacks(run, report, m->stacks, scope, &by_migrations);
}

/* ---- life ---- */

static int open_events(struct attar_run *run, struct sched_migrate *m)
{
	int r = asprintf(&m->event, "sched:sched_migrate_task%s%s%s", m->filter ? "/" : "",
		m->filter ? m->filter : "", m->filter ? "/" : "");

	if (r < 0)
		return attar_fail(-ENOMEM, "out of memory");
	m->input = (struct attar_input){.event = m->event,
		.fields = {"pid", "comm", "orig_cpu", "dest_cpu"},
		.on_event = on_migrate,
		.stacks = m->takes_stacks};
	r = attar_run_select_tasks(run);
	if (r == 0)
		r = attar_run_keep_own(run);
	return r == 0 ? attar_run_input(run, &m->input) : r;
}

static int sched_migrate_open(struct attar_run *run, void *self)
{
	struct sched_migrate *m = self;
	struct attar_keytable_opts opts = {
		.size = sizeof(opts), .sums = SUMS, .key_max = sizeof(struct keys_thread)};
	int r;

	m->takes_stacks = m->graph || attar_run_wants(run, ATTAR_WANT_TREE);
	r = open_events(run, m);
	if (r == 0)
		r = topology_read(&m->topology);
	if (r == 0)
		r = attar_keytable_new(&opts, &m->tasks);
	if (r == 0)
		r = attar_keytable_new(&opts, &m->pairs);
	return r == 0 && m->takes_stacks ? attar_stacks_new(attar_run_symbols(run), &m->stacks) : r;
}

static void sched_migrate_close(void *self)
{
	struct sched_migrate *m = self;

	attar_keytable_free(m->tasks);
	attar_keytable_free(m->pairs);
	attar_stacks_free(m->stacks);
	topology_done(&m->topology);
	free(m->event);
}

static const struct attar_option options[] = {
	ATTAR_TEXT(struct sched_migrate, filter, 0, "filter", "FILTER",
		"only migrations that pass this filter: 'prio<100', 'orig_cpu==0'"),
	ATTAR_FLAG(struct sched_migrate, detail, 0, "detail", "also show source and target CPUs"),
	ATTAR_FLAG(struct sched_migrate, graph, 'g', "call-graph",
		"also show the stacks that move tasks"),
	{0}};

static const struct attar_example examples[] = {
	{"sched-migrate -i 1s", "the most frequently moved tasks, each second"},
	{"sched-migrate --detail -p 1234", "the CPUs between which a process is moved"},
	{"sched-migrate -g --flame-graph migrate.html --filter 'comm==\"java\"'",
		"stacks that move tasks with this name"},
	{0}};

const struct attar_profiler profiler_sched_migrate = {
	.name = "sched-migrate",
	.group = "Scheduling",
	.summary = "migrations of tasks between CPUs, and whether they keep their caches",
	.uses = ATTAR_USES_RINGS | ATTAR_GIVES_TREE,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct sched_migrate),
	.options = options,
	.examples = examples,
	.open = sched_migrate_open,
	.record = on_record,
	.report = sched_migrate_report,
	.close = sched_migrate_close,
};
