/* SPDX-License-Identifier: MIT */
/* oncpu: which tasks ran on each CPU, or on which CPUs each thread ran, and for how long. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/run.h"
#include "lib/held_command.h"
#include "lib/list_options.h"
#include "lib/task_by.h"
#include "sched/thread_check.h"

enum { COMM_BYTES = 16, CPUS_MAX = 8192, PRIOS = 140, ROWS_MAX = 65536 };
enum { UNKNOWN = -1 };       /* in struct oncpu.current: switches were lost */
enum { NOWHERE = CPUS_MAX }; /* in struct group.cpu: runs that --filter leaves out */
enum { RUNNING, STATES };

/* Whose time is added up: a thread, threads of a name, or what --by says, on a CPU. */
struct group {
	uint32_t cpu, tid; /* tid 0: any; with --by, the lower half of task_key_of.id */
	uint32_t life;     /* the upper half: tells tasks with one tid apart */
	char comm[COMM_BYTES];
};

struct oncpu {
	const char *filter, *prio, *by_text;
	bool detail, only_comm;

	enum task_by by;
	bool by_thread, prios[PRIOS];
	int64_t current[CPUS_MAX]; /* 1 + the thread that runs on the CPU; 0: the first one */
	uint64_t no_begin;         /* runs of unknown begin */
	bool knows_online;         /* find_offline() was called */
	struct held_command held;
	struct attar_states *states;
	struct thread_check check;
};

/* ---- events ---- */

enum { PREV_PID, PREV_COMM, PREV_PRIO, NEXT_PID, NEXT_COMM, NEXT_PRIO };

static struct group make_group(
	const struct oncpu *o, const struct attar_event *ev, pid_t tid, unsigned comm_field)
{
	struct group group = {.cpu = ev->cpu, .tid = o->only_comm ? 0 : (uint32_t)tid};
	size_t n;
	const char *comm = attar_arg_text(ev, comm_field, &n);

	if (comm)
		memcpy(group.comm, comm, n < COMM_BYTES ? n : COMM_BYTES - 1);
	return group;
}

static bool is_wanted(struct oncpu *o, const struct attar_run *run, const struct attar_event *ev,
	pid_t tid, unsigned prio_field)
{
	uint64_t prio = attar_arg_u64(ev, prio_field);

	if (!tid || held_command_is(&o->held, run, tid)) /* the idle task */
		return false;
	if (o->prio && (prio >= PRIOS || !o->prios[prio]))
		return false;
	return attar_run_is_selected(run, attar_run_thread(run, tid));
}

static bool is_named(const struct oncpu *o, const struct group *group)
{
	return !o->filter || names_match(o->filter, group->comm);
}

/* What --by says of a thread. A run has the name that its thread has at its end. */
static struct group group_by(
	const struct oncpu *o, const struct attar_run *run, pid_t tid, const struct group *thread)
{
	char comm[TASK_NAME_BYTES] = "";
	struct group group = *thread;
	struct task_key_of key;

	if (!is_named(o, thread))
		return (struct group){.cpu = NOWHERE};
	if (o->by == BY_THREAD && group.tid)
		group.life = (uint32_t)(task_by_life(attar_run_thread(run, tid)) >> 32);
	if (o->by == BY_THREAD)
		return group;
	memcpy(comm, thread->comm, COMM_BYTES);
	key = task_by_key(run, o->by, tid, comm);
	group.tid = (uint32_t)key.id;
	group.life = (uint32_t)((uint64_t)key.id >> 32);
	memcpy(group.comm, key.name, COMM_BYTES);
	return group;
}

/* A thread begins or ends to run on the CPU of the event. */
static int change(struct oncpu *o, const struct attar_run *run, const struct attar_event *ev,
	pid_t tid, const struct group *thread, uint32_t to, uint64_t time)
{
	const struct group of_thread = group_by(o, run, tid, thread), *group = &of_thread;
	const struct attar_stamp at = {.time = time, .task = ATTAR_NO_TASK, .cpu = (int)ev->cpu};
	uint64_t key = (uint64_t)ev->cpu << 32 | (uint32_t)tid;
	struct attar_state *state = attar_states_get(o->states, &key, sizeof(key));

	if (!state && to == ATTAR_NO_STATE)
		return 0;
	if (state) /* the name can have changed since the thread was switched in */
		attar_state_set_group(o->states, state, group, sizeof(*group));
	if (to == ATTAR_NO_STATE)
		return attar_states_exit(o->states, &key, sizeof(key), &at);
	state = attar_states_set_u64(o->states, key, to, &at);
	if (!state)
		return -ENOMEM;
	attar_state_set_group(o->states, state, group, sizeof(*group));
	return 0;
}

/* What runs first on a CPU that comes online later has not run there since the start. */
static void find_offline(struct oncpu *o, const struct attar_run *run)
{
	bool online[CPUS_MAX] = {false};
	char list[4096];

	o->knows_online = true;
	if (!*run_online_cpus(run, list, sizeof(list)) ||
		numbers_parse(list, "CPUs online", CPUS_MAX, online) < 0) {
		attar_error_clear();
		return;
	}
	for (size_t cpu = 0; cpu < CPUS_MAX; cpu++)
		o->current[cpu] = online[cpu] || o->current[cpu] ? o->current[cpu] : UNKNOWN;
}

/*
 * The first switch of a CPU: prev has run there since the start. If another thread than prev was
 * switched in, switches in between are missing: the kernel hides the switches of some threads.
 */
static int check_prev(struct attar_run *run, struct oncpu *o, const struct attar_event *ev,
	pid_t prev, const struct group *group)
{
	int64_t current = o->current[ev->cpu];

	if (current && current != prev + 1)
		attar_states_lost(o->states, (int)ev->cpu, ev->time - 1, ev->time - 1);
	if (current == prev + 1 || !is_wanted(o, run, ev, prev, PREV_PRIO))
		return 0;
	if (current) {
		o->no_begin++;
		return 0;
	}
	return change(o, run, ev, prev, group, RUNNING, attar_run_began(run));
}

static int on_switch(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct oncpu *o = self;
	pid_t prev = (pid_t)attar_arg_i64(ev, PREV_PID), next = (pid_t)attar_arg_i64(ev, NEXT_PID);
	struct group group = make_group(o, ev, prev, PREV_COMM);
	bool was_wanted, wants;
	int r = 0;

	if (ev->cpu >= CPUS_MAX)
		return 0;
	if (!o->knows_online)
		find_offline(o, run);
	r = check_prev(run, o, ev, prev, &group);
	o->current[ev->cpu] = next + 1;
	was_wanted = is_wanted(o, run, ev, prev, PREV_PRIO);
	if (r == 0 && was_wanted)
		r = change(o, run, ev, prev, &group, ATTAR_NO_STATE, ev->time);
	was_wanted &= is_named(o, &group);
	group = make_group(o, ev, next, NEXT_COMM);
	wants = is_wanted(o, run, ev, next, NEXT_PRIO);
	if (r == 0 && wants)
		r = change(o, run, ev, next, &group, RUNNING, ev->time);
	if (!(wants && is_named(o, &group)) && !was_wanted)
		attar_run_pass_over(run);
	return r;
}

/* As an event of another profiler: a switch to such a thread. */
static int oncpu_emits(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct oncpu *o = self;
	pid_t next = (pid_t)attar_arg_i64(ev, NEXT_PID);
	struct group group = make_group(o, ev, next, NEXT_COMM);

	return is_wanted(o, run, ev, next, NEXT_PRIO) && is_named(o, &group);
}

/* At its exec, the command begins to run. Its priority is not known then. */
static int on_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct oncpu *o = self;
	struct group group = {.cpu = ev->cpu};
	const struct attar_thread *thread = ev->thread;

	if (!held_command_ends(&o->held, run, ev) || run_emits(run) || !thread ||
		ev->cpu >= CPUS_MAX || o->prio || !attar_run_is_selected(run, thread))
		return 0;
	group.tid = o->only_comm ? 0 : (uint32_t)thread->tid;
	strncpy(group.comm, thread->comm, COMM_BYTES - 1);
	o->current[ev->cpu] = thread->tid + 1;
	return change(o, run, ev, thread->tid, &group, RUNNING, ev->time);
}

/* One that leaves its control group; the last switch of one that exits follows. */
static int on_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_stamp at = {.time = ev->time, .task = ATTAR_NO_TASK};
	struct oncpu *o = self;
	int r = 0;

	(void)run;
	if (ev->record->type == PERF_RECORD_EXIT || !ev->thread)
		return 0;
	for (uint64_t cpu = 0; r == 0 && cpu < CPUS_MAX; cpu++) {
		uint64_t key = cpu << 32 | (uint32_t)ev->thread->tid;

		if (o->current[cpu] == ev->thread->tid + 1)
			r = attar_states_exit(o->states, &key, sizeof(key), &at);
	}
	return r;
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct oncpu *o = self;

	attar_states_lost(o->states, (int)ev->cpu, ev->lost_from, ev->lost_to);
	if (ev->cpu < CPUS_MAX && !o->current[ev->cpu])
		o->current[ev->cpu] = UNKNOWN;
	return 0;
}

/* ---- reporting ---- */

struct report {
	const struct oncpu *o;
	const struct attar_run *run;
	enum attar_scope scope;
	struct attar_keyrow **rows;
	size_t n;
	double passed; /* ns */
};

static uint64_t time_of(const struct report *d, const struct attar_keyrow *row)
{
	return attar_hist_sum(&attar_keyrow_sums(row, d->scope)->hists[RUNNING]);
}

static void drop_unnamed(struct report *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		if (((const struct group *)d->rows[i]->key)->cpu != NOWHERE)
			d->rows[n++] = d->rows[i];
	d->n = n;
}

static int compare_ids(const struct group *a, const struct group *b, bool by_thread)
{
	if (!by_thread)
		return (a->cpu > b->cpu) - (a->cpu < b->cpu);
	if (a->tid != b->tid)
		return (a->tid > b->tid) - (a->tid < b->tid);
	return a->life != b->life ? (a->life > b->life) - (a->life < b->life)
				  : memcmp(a->comm, b->comm, COMM_BYTES);
}

/* By CPU, or by thread; then the longest time first. */
static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct attar_keyrow *x = *(struct attar_keyrow *const *)a,
				  *y = *(struct attar_keyrow *const *)b;
	const struct report *d = ctx;
	uint64_t time_x = time_of(d, x), time_y = time_of(d, y);
	int ids = compare_ids(x->key, y->key, d->o->by_thread);

	return ids ? ids : (time_x < time_y) - (time_x > time_y);
}

static void add_time(const struct report *d, struct attar_section *table, uint64_t time)
{
	attar_cell_u64(table, time);
	if (d->passed > 0)
		attar_cell_double(table, 100 * (double)time / d->passed);
	else
		attar_cell_none(table);
}

static void add_task(const struct report *d, struct attar_section *table, const struct group *group)
{
	struct task_key_of key = {.id = d->o->by == BY_THREAD ? (pid_t)group->tid : group->tid};

	if (d->o->only_comm) {
		attar_cell_text(table, group->comm);
		return;
	}
	memcpy(key.name, group->comm, COMM_BYTES);
	task_by_cells(d->run, d->o->by, table, &key);
}

static void task_columns(const struct report *d, struct attar_section *table)
{
	if (d->o->only_comm)
		attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	else
		task_by_columns(d->o->by, table, "");
}

/* One row for each CPU, or for each thread: the sum of its rows in the other table. */
static void add_sums(const struct report *d, struct attar_report *report)
{
	bool by_thread = d->o->by_thread;
	struct attar_section *table = attar_report_table(report, !by_thread              ? "cpus"
								 : d->o->by == BY_THREAD ? "threads"
											 : "tasks");

	if (by_thread)
		task_columns(d, table);
	else
		attar_section_column(table, "cpu", ATTAR_UNIT_ID);
	attar_section_column(table, "time", ATTAR_UNIT_NS);
	attar_section_column(table, "share", ATTAR_UNIT_PERCENT);
	attar_section_column(table, by_thread ? "cpus" : "tasks", ATTAR_UNIT_COUNT);
	for (size_t i = 0, end; i < d->n; i = end) {
		const struct group *group = d->rows[i]->key;
		uint64_t sum = 0;

		for (end = i; end < d->n && !compare_ids(group, d->rows[end]->key, by_thread);
			end++)
			sum += time_of(d, d->rows[end]);
		attar_section_row(table);
		if (by_thread)
			add_task(d, table, group);
		else
			attar_cell_u64(table, group->cpu);
		add_time(d, table, sum);
		attar_cell_u64(table, end - i);
	}
}

static void add_rows(const struct report *d, struct attar_report *report)
{
	struct attar_section *table = attar_report_table(report, "oncpu");

	if (!d->o->by_thread)
		attar_section_column(table, "cpu", ATTAR_UNIT_ID);
	task_columns(d, table);
	if (d->o->by_thread)
		attar_section_column(table, "cpu", ATTAR_UNIT_ID);
	attar_section_column(table, "time", ATTAR_UNIT_NS);
	attar_section_column(table, "share", ATTAR_UNIT_PERCENT);
	if (d->o->detail)
		attar_section_hist_columns(table, ATTAR_UNIT_NS);
	for (size_t i = 0; i < d->n; i++) {
		const struct group *group = d->rows[i]->key;

		attar_section_row(table);
		if (!d->o->by_thread)
			attar_cell_u64(table, group->cpu);
		add_task(d, table, group);
		if (d->o->by_thread)
			attar_cell_u64(table, group->cpu);
		add_time(d, table, time_of(d, d->rows[i]));
		if (d->o->detail)
			attar_cell_hist(
				table, &attar_keyrow_sums(d->rows[i], d->scope)->hists[RUNNING]);
	}
}

static int check_times(
	struct oncpu *o, struct attar_run *run, const struct report *d, struct attar_report *report)
{
	struct thread_seen *seen;
	int r;

	if (o->filter || o->prio || o->only_comm || o->by != BY_THREAD)
		return 0;
	seen = calloc(d->n + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < d->n; i++) {
		seen[i].tid = (pid_t)((const struct group *)d->rows[i]->key)->tid;
		seen[i].times[CHECK_RUNNING] = time_of(d, d->rows[i]);
	}
	r = thread_check_report(run, &o->check, report, d->scope, seen, d->n, 1U << CHECK_RUNNING);
	free(seen);
	return r;
}

static int oncpu_turn(struct attar_run *run, void *self)
{
	return thread_check_turn(run, &((struct oncpu *)self)->check);
}

static int oncpu_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct oncpu *o = self;
	struct attar_keytable *times = attar_states_table(o->states);
	struct report d = {.o = o, .run = run, .scope = scope};
	struct attar_states_stats stats;
	uint64_t passed;
	int r = attar_states_close(o->states, attar_run_until(run));

	if (r == 0)
		r = attar_keytable_end_interval(times);
	d.n = attar_keytable_keys(times);
	d.rows = malloc((d.n + 1) * sizeof(struct attar_keyrow *));
	if (r < 0 || !d.rows) {
		free(d.rows);
		return -ENOMEM;
	}
	attar_report_get_interval(report, NULL, &passed);
	d.passed = (double)passed;
	d.n = attar_keytable_top(times, scope, RUNNING, d.rows, d.n);
	drop_unnamed(&d);
	qsort_r(d.rows, d.n, sizeof(struct attar_keyrow *), compare_rows, &d);
	add_sums(&d, report);
	add_rows(&d, report);
	r = check_times(o, run, &d, report);
	free(d.rows);
	attar_states_get_stats(o->states, &stats);
	if (stats.lost + o->no_begin)
		attar_report_remark(report,
			"runs left out because context switches are missing: %llu",
			(unsigned long long)(stats.lost + o->no_begin));
	attar_report_evicted(report, times, "threads");
	return r;
}

/* ---- life ---- */

static const struct attar_input switches = {.event = "sched:sched_switch",
	.fields = {"prev_pid", "prev_comm", "prev_prio", "next_pid", "next_comm", "next_prio"},
	.on_event = on_switch};

/* Names have no operators, unlike a filter of events. */
static int check_names(const char *names)
{
	static const char *const operators[] = {"==", "!=", "<", ">", "&&", "||"};

	for (size_t i = 0; names && i < sizeof(operators) / sizeof(operators[0]); i++)
		if (strstr(names, operators[i]))
			return attar_fail(-EINVAL,
				"--filter: '%.64s' is a filter of events, not names of "
				"threads" ATTAR_FIX
				"use --prio LIST for priorities, and -p or -t for tasks",
				names);
	return 0;
}

static int oncpu_open(struct attar_run *run, void *self)
{
	struct oncpu *o = self;
	const struct attar_states_opts opts = {.size = sizeof(opts),
		.states = STATES,
		.flags = ATTAR_STATES_ONE_CPU,
		.group_max = sizeof(struct group),
		.groups_max = ROWS_MAX};
	int r = check_names(o->filter);

	if (r == 0 && o->by_text && o->only_comm)
		r = attar_fail(-EINVAL, "--by conflicts with --only-comm");
	if (r == 0)
		r = task_by_parse(run, o->by_text, &o->by);
	if (r == 0 && o->prio)
		r = numbers_parse(o->prio, "--prio", PRIOS, o->prios);
	o->by_thread = attar_run_target_kind(run) != ATTAR_TARGET_SYSTEM;
	if (r == 0)
		r = attar_run_select_tasks(run);
	if (r == 0)
		r = attar_run_keep_own(run);
	if (r == 0 && attar_run_is_live(run))
		find_offline(o, run);
	if (r == 0)
		r = attar_run_input(run, &switches);
	return r == 0 ? attar_states_new(&opts, &o->states) : r;
}

static void oncpu_close(void *self)
{
	struct oncpu *o = self;

	attar_states_free(o->states);
	thread_check_done(&o->check);
}

static const struct attar_option options[] = {
	ATTAR_JOINED(struct oncpu, filter, 0, "filter", "NAMES",
		"only threads with these names, separated by commas; * and ? match"),
	ATTAR_TEXT(struct oncpu, prio, 0, "prio", "LIST",
		"only threads with these kernel priorities: 0-98 real time, 100-139 normal"),
	ATTAR_TEXT(struct oncpu, by_text, 0, "by", "WHAT",
		"rows by " TASK_BY_HELP " (default thread)"),
	ATTAR_FLAG(struct oncpu, only_comm, 0, "only-comm", "add up threads with the same name"),
	ATTAR_FLAG(struct oncpu, detail, 0, "detail", "also show the number and length of runs"),
	{0}};

static const struct attar_example examples[] = {
	{"oncpu -C 0-3 -i 1s", "the tasks that run on these CPUs, each second"},
	{"oncpu -p 1234 -i 1s", "the CPUs on which the threads of a process run"},
	{"oncpu --only-comm --detail -d 5s", "by name, with the lengths of the runs"},
	{"oncpu --prio 0-98", "real-time threads"}, {0}};

const struct attar_profiler profiler_oncpu = {
	.name = "oncpu",
	.group = "CPU",
	.summary = "tasks that run on each CPU, and CPUs on which each thread runs",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct oncpu),
	.options = options,
	.examples = examples,
	.open = oncpu_open,
	.emits = oncpu_emits,
	.lost = on_lost,
	.exited = on_exited,
	.record = on_record,
	.report = oncpu_report,
	.close = oncpu_close,
	.turn = oncpu_turn,
};
