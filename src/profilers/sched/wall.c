/* SPDX-License-Identifier: MIT */
/*
 * wall: what threads do all the time: running, waiting for a CPU, blocked, or waiting for work. The
 * time that a thread runs is divided among the samples that were taken meanwhile, so that all
 * stacks add up to the time of the thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "lib/task_sums.h"
#include "sched/open_waits.h"
#include "sched/thread_check.h"
#include "sched/thread_times.h"
#include "sched/wakers.h"

enum { THREADS_OF_A_NAME = 20 /* so many that a table of names is shorter */ };

struct wall {
	struct thread_times times; /* first: see thread_times_open() */
	int with_waker;            /* -1: default, if there is a time line */
	bool only_comm;            /* option */
	const char *by_text;
	struct task_sums tasks; /* of --by: the time, and the time in each state */
	struct attar_stacks *stacks;
	attar_location labels[THREAD_STATES];
	struct wakers wakers;
	struct thread_check check;
};

/* The values of thread_times.states, if there are wakers. */
struct wall_block {
	struct thread_block block; /* first */
	uint64_t ran;              /* ns: when the thread was switched in last */
	uint64_t woken;            /* ns: when `waker` woke it up; 0: no waker */
	struct waker waker;
};

/* ---- the time line ---- */

static bool is_asleep(enum thread_state state)
{
	return state != THREAD_RUNNING && state != THREAD_READY;
}

/*
 * What ended the block. The thread may have been woken up when it was about to be switched out, but
 * not before it ran. Returns NULL if that was not seen.
 */
static const struct attar_waker *take_waker(
	const struct wall *w, const struct thread_segment *segment, struct attar_waker *waker)
{
	struct wall_block *block = (struct wall_block *)segment->block;
	bool has_waker;

	if (!w->with_waker)
		return NULL;
	if (segment->state == THREAD_RUNNING)
		block->ran = segment->since;
	if (!segment->is_end || !is_asleep(segment->state))
		return NULL;
	has_waker = block->woken && block->woken >= block->ran;
	block->woken = 0;
	*waker = (struct attar_waker){.comm = block->waker.comm,
		.pid = block->waker.pid,
		.tid = block->waker.tid,
		.stack = block->waker.stack,
		.depth = block->waker.depth};
	return has_waker ? waker : NULL;
}

/*
 * The time that a thread runs is divided among samples here too. The outputs join what follows each
 * other.
 */
static int add_span(struct attar_run *run, const struct wall *w,
	const struct thread_segment *segment, uint64_t stack)
{
	struct attar_waker waker;
	const struct attar_span span = {.begin = segment->from,
		.end = segment->to,
		.thread = segment->thread,
		.cpu = segment->state == THREAD_RUNNING ? segment->block->cpu - 1 : -1,
		.category = "state",
		.name = thread_state_names[segment->state],
		.stack = stack,
		.weight = segment->to - segment->from,
		.waker = take_waker(w, segment, &waker)};

	return attar_run_wants(run, ATTAR_WANT_SPANS) ? attar_run_add_span(run, &span) : 0;
}

/* The wakeup follows, and ends the block. */
static int on_waking(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct wall *w = self;
	uint64_t tid = attar_arg_u64(ev, WAKERS_TID);
	const struct attar_state *state = attar_states_get(w->times.states, &tid, sizeof(tid));
	struct wall_block *block = state ? state->value : NULL;

	if (!block || state->state == ATTAR_NO_STATE)
		return 0;
	block->woken = ev->time;
	wakers_read(&w->wakers, run, ev, &block->waker);
	return 0;
}

/* ---- segments ---- */

/* Adds time with the stack of the thread below the name of the state. */
static int on_segment(struct attar_run *run, void *self, const struct thread_segment *segment)
{
	const struct thread_block *block = segment->block;
	attar_location stack[THREAD_DEPTH_MAX + 1];
	struct wall *w = self;
	uint64_t number, sums[THREAD_STATES + 1] = {segment->to - segment->from};
	int r;

	sums[1 + segment->state] = sums[0];
	if (w->tasks.table && task_sums_add(run, &w->tasks, segment->thread, sums) < 0)
		return -ENOMEM;
	memcpy(stack, block->stack, block->depth * sizeof(*stack));
	stack[block->depth] = w->labels[segment->state];
	r = attar_stacks_add_span(w->stacks, segment->thread, stack, block->depth + 1U,
		segment->to - segment->from, &number);
	return r == 0 ? add_span(run, w, segment, number) : r;
}

static int on_sample(struct attar_run *run, void *self, const struct attar_event *ev)
{
	int r = thread_times_runs(run, self, ev);

	return r < 0 ? r : thread_times_sample(run, self, ev);
}

static int wall_turn(struct attar_run *run, void *self)
{
	struct wall *w = self;
	int r = thread_times_scan(run, &w->times);

	if (r == 0)
		r = former_waits_turn(run, &w->times.former);
	return r == 0 ? thread_check_turn(run, &w->check) : r;
}

static const char *name_of(const struct attar_keyrow *row)
{
	return row->key ? ((const struct thread_group *)row->key)->comm : "[others]";
}

static void state_columns(struct attar_section *table)
{
	attar_section_column(table, "time", ATTAR_UNIT_NS);
	for (int s = 0; s < THREAD_STATES; s++)
		attar_section_column(table, thread_state_names[s], ATTAR_UNIT_PERCENT);
}

static void state_cells(struct attar_section *table, const uint64_t *sums)
{
	uint64_t all = sums[THREAD_STATES];

	attar_cell_u64(table, all);
	for (int s = 0; s < THREAD_STATES; s++)
		attar_cell_double(table, all ? 100 * (double)sums[s] / (double)all : 0);
}

static void add_threads(struct attar_section *table, struct attar_keyrow *const *rows, size_t n,
	enum attar_scope scope)
{
	attar_section_column(table, "tid", ATTAR_UNIT_ID);
	attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	state_columns(table);
	for (size_t i = 0; i < n; i++) {
		const struct thread_group *group = rows[i]->key;

		attar_section_row(table);
		if (group)
			attar_cell_i64(table, group->tid);
		else
			attar_cell_none(table);
		attar_cell_text(table, name_of(rows[i]));
		state_cells(table, attar_keyrow_sums(rows[i], scope)->sums);
	}
}

/* Threads with the same name. */
struct name {
	const char *comm;
	uint64_t threads, sums[THREAD_STATES + 1];
};

static int by_name(const void *a, const void *b)
{
	return strcmp(name_of(*(struct attar_keyrow *const *)a),
		name_of(*(struct attar_keyrow *const *)b));
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct name *)a)->sums[THREAD_STATES],
		 y = ((const struct name *)b)->sums[THREAD_STATES];

	return (x < y) - (x > y);
}

/* Sorts the rows. Returns the number of names, which have room for one per row. */
static size_t add_up_names(
	struct attar_keyrow **rows, size_t n, enum attar_scope scope, struct name *names)
{
	size_t found = 0;

	if (n)
		qsort(rows, n, sizeof(*rows), by_name);
	for (size_t i = 0; i < n; i++) {
		const uint64_t *sums = attar_keyrow_sums(rows[i], scope)->sums;

		if (!i || by_name(&rows[i - 1], &rows[i]) != 0)
			names[found++] = (struct name){.comm = name_of(rows[i])};
		names[found - 1].threads++;
		for (int s = 0; s <= THREAD_STATES; s++)
			names[found - 1].sums[s] += sums[s];
	}
	return found;
}

static void add_names(struct attar_section *table, struct name *names, size_t n)
{
	attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(table, "threads", ATTAR_UNIT_COUNT);
	state_columns(table);
	if (n)
		qsort(names, n, sizeof(*names), by_time);
	for (size_t i = 0; i < n; i++) {
		attar_section_row(table);
		attar_cell_text(table, names[i].comm);
		attar_cell_u64(table, names[i].threads);
		state_cells(table, names[i].sums);
	}
}

static void remark_names(struct attar_report *report, const struct name *names, size_t n)
{
	const struct name *most = names;

	for (size_t i = 1; i < n; i++)
		if (names[i].threads > most->threads)
			most = &names[i];
	if (n && most->threads >= THREADS_OF_A_NAME)
		attar_report_remark(report,
			"%llu threads have the name '%s': --only-comm adds up threads by name",
			(unsigned long long)most->threads, most->comm);
}

/* A thread has rows under each of its names; the present one has what has not ended. */
static uint64_t queued_for(
	const struct wall *w, const struct attar_run *run, const struct thread_group *group)
{
	const uint64_t key = (uint64_t)group->tid, until = attar_run_until(run);
	const struct attar_state *state = attar_states_get(w->times.states, &key, sizeof(key));
	const struct thread_block *block = state ? state->value : NULL;

	return block && state->state == THREAD_READY && block->since < until &&
			       !memcmp(&block->group, group, sizeof(*group))
		       ? until - block->since
		       : 0;
}

static int check_times(struct wall *w, struct attar_run *run, struct attar_report *report,
	enum attar_scope scope, struct attar_keyrow *const *rows, size_t n)
{
	struct thread_seen *seen = calloc(n + 1, sizeof(*seen));
	size_t found = 0;
	int r;

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const uint64_t *sums = attar_keyrow_sums(rows[i], scope)->sums;
		uint64_t *times = seen[found].times;

		if (!rows[i]->key)
			continue;
		seen[found].queued = queued_for(w, run, rows[i]->key);
		seen[found++].tid = ((const struct thread_group *)rows[i]->key)->tid;
		times[CHECK_RUNNING] = sums[THREAD_RUNNING];
		times[CHECK_READY] = sums[THREAD_READY];
		times[CHECK_OFF] = sums[THREAD_STATES] - sums[THREAD_RUNNING] - sums[THREAD_READY];
	}
	r = thread_check_report(
		run, &w->check, report, scope, seen, found, (1U << CHECK_TIMES) - 1);
	free(seen);
	return r;
}

static int add_rows(
	struct wall *w, struct attar_run *run, struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *table =
		attar_report_table(report, w->only_comm ? "names" : "threads");
	struct attar_keytable *times = attar_states_table(w->times.states);
	int r = attar_keytable_end_interval(times);
	struct attar_keyrow **rows;
	struct name *names;
	size_t n, n_rows;

	if (r == 0)
		r = attar_keytable_rows(times, scope, THREAD_STATES, &rows, &n_rows);
	if (r < 0)
		return r;
	n = n_rows;
	if (!w->only_comm)
		add_threads(table, rows, n, scope);
	names = calloc(n + 1, sizeof(*names));
	n = names ? add_up_names(rows, n, scope, names) : 0;
	if (w->only_comm)
		add_names(table, names, n);
	else
		remark_names(report, names, n);
	r = names ? check_times(w, run, report, scope, rows, n_rows) : -ENOMEM;
	free(rows);
	free(names);
	return r;
}

static int add_tasks(const struct wall *w, const struct attar_run *run, struct attar_report *report,
	enum attar_scope scope)
{
	struct task_sum_column columns[THREAD_STATES + 1] = {{"time", ATTAR_UNIT_NS}};

	for (int s = 0; s < THREAD_STATES; s++)
		columns[1 + s] = (struct task_sum_column){thread_state_names[s], ATTAR_UNIT_NS};
	return task_sums_report(run, &w->tasks, report, scope, columns);
}

static bool is_open_wait(const void *self, const struct attar_wait *wait)
{
	(void)self;
	return wait->kind != ATTAR_WAIT_KERNEL;
}

static uint64_t waits_since(const struct attar_run *run, const void *self, pid_t tid)
{
	return thread_times_waits_since(run, &((const struct wall *)self)->times, tid);
}

static int wall_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const struct attar_stacks_opts opts = {.size = sizeof(opts),
		.weight = "time",
		.unit = ATTAR_UNIT_NS,
		.tree = true,
		.cpu_ns = 1,
		.cpu_label = thread_state_labels[THREAD_RUNNING]};
	struct wall *w = self;
	int r = thread_times_scan(run, &w->times);

	if (r == 0)
		r = thread_times_divide(run, &w->times, attar_run_until(run));
	if (r == 0)
		r = add_rows(w, run, report, scope);
	attar_report_dropped(report, w->times.states, "segments of time");
	thread_times_remark(run, &w->times, report, scope);
	if (r == 0)
		r = open_waits_report(run, report, scope,
			&(struct open_waits_opts){.self = w,
				.is_wanted = is_open_wait,
				.since = waits_since,
				.former = &w->times.former});
	if (!run_has_sampler(run))
		attar_report_remark(report,
			"the recording has no samples of CPU time: [running] has no stacks");
	if (r == 0)
		r = add_tasks(w, run, report, scope);
	return r == 0 ? attar_run_stacks(run, report, w->stacks, scope, &opts) : r;
}

/* ---- life ---- */

static int wall_open(struct attar_run *run, void *self)
{
	static const struct attar_input wakings = {
		WAKERS_EVENT, .on_event = on_waking, .stacks = true, .optional = true};
	struct wall *w = self;
	int r;

	w->with_waker = w->with_waker && attar_run_wants(run, ATTAR_WANT_SPANS);
	w->times.segment = on_segment;
	w->times.block_size = w->with_waker ? sizeof(struct wall_block) : 0;
	for (int s = 0; s < THREAD_STATES; s++)
		w->labels[s] = attar_symbols_label(attar_run_symbols(run), thread_state_labels[s]);
	r = thread_times_open(run, &w->times);
	attar_run_all_cpus(run, true);
	if (r == 0 && w->with_waker)
		r = attar_run_input(run, &wakings);
	attar_run_all_cpus(run, false);
	if (r == 0 && run_has_sampler(run))
		r = attar_run_sampler(run, true, on_sample);
	if (r == 0)
		r = attar_stacks_new(attar_run_symbols(run), &w->stacks);
	return r < 0 ? r : task_sums_open(run, w->by_text, w->stacks, THREAD_STATES + 1, &w->tasks);
}

static void wall_close(void *self)
{
	struct wall *w = self;

	thread_times_close(&w->times);
	thread_check_done(&w->check);
	attar_stacks_free(w->stacks);
	task_sums_close(&w->tasks);
}

static void wall_defaults(void *self)
{
	((struct wall *)self)->with_waker = -1;
}

static const struct attar_option options[] = {
	ATTAR_SWITCH(struct wall, with_waker, "waker",
		"show wakers and their stacks on time lines (default)"),
	ATTAR_TEXT(struct wall, by_text, 0, "by", "WHAT",
		"also show the time of each " TASK_BY_HELP ", above its stacks"),
	ATTAR_FLAG(struct wall, only_comm, 0, "only-comm", "add up threads with the same name"),
	{0}};

static const struct attar_example examples[] = {
	{"wall -p 1234 -d 10s -o wall.html",
		"the activity of a process, as a flame graph and a time line"},
	{"wall -- make", "all threads of a command"},
	{"wall --only-comm -- make", "the same, added up by name"}, {0}};

const struct attar_profiler profiler_wall = {
	.name = "wall",
	.group = "Scheduling",
	.summary = "what threads do, on and off the CPU: running, waiting for a CPU, blocked, idle",
	.uses = ATTAR_USES_SAMPLING | ATTAR_USES_RINGS | ATTAR_USES_STACKS | ATTAR_GIVES_TREE |
		ATTAR_GIVES_SPANS | ATTAR_GIVES_STATES | ATTAR_READS_KERNEL_STACKS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct wall),
	.options = options,
	.examples = examples,
	.defaults = wall_defaults,
	.open = wall_open,
	.lost = thread_times_lost,
	.exited = thread_times_exited,
	.report = wall_report,
	.close = wall_close,
	.turn = wall_turn,
};
