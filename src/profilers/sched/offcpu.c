/* SPDX-License-Identifier: MIT */
/*
 * offcpu: the time that tasks are blocked, by the stack at which they blocked and the stack of what
 * woke them up. A context switch begins a block, and the wakeup ends it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "lib/held_command.h"
#include "lib/kernel_frames.h"
#include "lib/kernel_names.h"
#include "lib/prev_state.h"
#include "lib/task_by.h"
#include "sched/open_waits.h"
#include "sched/thread_check.h"
#include "sched/wakers.h"

enum {
	COMM_BYTES = WAKER_COMM_BYTES,
	DEPTH_MAX = WAKER_DEPTH_MAX,
	CHAIN_MAX = 2 * DEPTH_MAX + 2, /* two stacks and their labels */
	KEYS_MAX = 16384,
};

enum state { BLOCKED, STATES };

/* The block of a task. */
struct task {
	char comm[COMM_BYTES];
	bool is_perf; /* frames_are_of_perf() */
	uint16_t depth;
	attar_location stack[DEPTH_MAX]; /* at which it was switched out */
};

/* A task and the one that woke it up, the key of a row. Padded with zeros. */
struct pair {
	char comm[COMM_BYTES], waker[COMM_BYTES];
};

struct offcpu {
	bool uninterruptible;
	int with_waker; /* -1: default, yes */
	const char *by_text;
	uint64_t than;  /* ns */

	enum task_by by;
	struct held_command held;
	struct attar_states *states;
	struct attar_keytable *threads, *pairs;
	struct attar_stacks *blocked, *chains; /* without and with the stack of the waker */
	attar_location separator;
	struct wakers wakers;
	struct frames *frames;
	struct left_out perf;
	struct left_out unwoken; /* by an event that was delivered; these are not left out */
	uint64_t endless;        /* blocks whose end was not seen */
	bool has_ended;          /* one whose end was */
	struct thread_check check;
	struct former_waits former;
};

/* ---- blocks ---- */

static void copy_comm(char to[COMM_BYTES], const struct attar_event *ev, unsigned field)
{
	size_t n;
	const char *text = attar_arg_text(ev, field, &n);

	memset(to, 0, COMM_BYTES);
	memcpy(to, text ? text : "", n < COMM_BYTES ? n : COMM_BYTES - 1);
}

/* The waker and its stack, from the outermost function to the innermost; then the blocked stack. */
static size_t join(const struct offcpu *o, struct attar_run *run, const struct task *task,
	const struct waker *waker, attar_location chain[CHAIN_MAX])
{
	size_t n = 0;

	chain[n++] = attar_symbols_label(
		attar_run_symbols(run), *waker->comm ? waker->comm : "[unknown]");
	for (size_t i = waker->depth; i-- > 0;)
		chain[n++] = waker->stack[i];
	chain[n++] = o->separator;
	memcpy(&chain[n], task->stack, task->depth * sizeof(*chain));
	return n + task->depth;
}

static void columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "blocked", ATTAR_UNIT_NS);
	attar_section_main(lines);
	attar_section_column(lines, "waker", ATTAR_UNIT_TEXT);
}

static void add_line(struct attar_run *run, const struct attar_event *ev, pid_t tid,
	const struct task *task, uint64_t duration, const struct waker *waker,
	const attar_location *chain, size_t n)
{
	struct attar_section *lines = attar_run_lines(run, "blocks", columns);

	if (!lines)
		return;
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_text(lines, task->comm);
	attar_cell_i64(lines, tid);
	attar_cell_u64(lines, duration);
	attar_cell_text(lines, waker->comm);
	attar_row_stack(lines, attar_run_symbols(run), chain, n);
}

/* In rows of both tables; SUM_UNSPLIT: of blocks with the time in which they waited for a CPU. */
enum { SUM_ALL, SUM_UNSPLIT, SUMS };

static int count(struct attar_keytable *table, const void *key, size_t size, uint64_t duration,
	uint64_t unsplit)
{
	struct attar_keyrow *row = attar_keytable_at(table, key, size);

	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_ALL] += duration;
	row->interval.sums[SUM_UNSPLIT] += unsplit;
	return attar_hist_add(&row->interval.hists[0], duration);
}

static int add_block(struct offcpu *o, struct attar_run *run, const struct attar_event *ev,
	struct attar_thread *thread, const struct task *task, uint64_t duration,
	const struct waker *waker, bool is_unsplit)
{
	const uint64_t unsplit = is_unsplit ? duration : 0;
	char comm[TASK_NAME_BYTES] = "";
	struct task_key_of key;
	attar_location chain[CHAIN_MAX];
	struct pair pair;
	size_t n = join(o, run, task, waker, chain);
	int r = attar_stacks_add(o->blocked, thread, task->stack, task->depth, duration);

	memcpy(comm, task->comm, COMM_BYTES);
	key = task_by_key(run, o->by, thread->tid, comm);
	memcpy(pair.comm, task->comm, COMM_BYTES);
	memcpy(pair.waker, waker->comm, COMM_BYTES);
	if (r == 0)
		r = count(o->threads, &key, sizeof(key), duration, unsplit);
	if (r == 0)
		r = count(o->pairs, &pair, sizeof(pair), duration, unsplit);
	if (r == 0 && o->chains)
		r = attar_stacks_add(o->chains, thread, chain, n, duration);
	if (r == 0 && o->than && attar_run_wants(run, ATTAR_WANT_LINES))
		add_line(run, ev, thread->tid, task, duration, waker, chain, n);
	return r;
}

/* A thread that is not known yet may be. */
static bool may_be_selected(struct offcpu *o, const struct attar_run *run, pid_t tid)
{
	const struct attar_thread *thread = attar_run_thread(run, tid);

	if (held_command_is(&o->held, run, tid))
		return false;
	return !thread || attar_run_is_selected(run, thread);
}

/* --count does not count events that concern neither thread of the selection. */
static void pass_over_others(struct offcpu *o, struct attar_run *run, pid_t tid, pid_t other)
{
	if (!attar_run_is_selected(run, NULL) && !may_be_selected(o, run, tid) &&
		!may_be_selected(o, run, other))
		attar_run_pass_over(run);
}

static struct attar_stamp stamp_at(const struct attar_event *ev)
{
	return (struct attar_stamp){.time = ev->time, .task = ATTAR_NO_TASK, .cpu = (int)ev->cpu};
}

/*
 * is_unsplit: the wakeup was not observed; the thread is switched in, some time after it, which is
 * a part of the block then.
 */
static int end_block(struct offcpu *o, struct attar_run *run, const struct attar_event *ev,
	pid_t tid, const struct waker *waker, bool is_unsplit)
{
	const struct attar_stamp at = stamp_at(ev);
	uint64_t key = (uint64_t)tid;
	struct attar_state *state = attar_states_get(o->states, &key, sizeof(key));
	struct attar_thread *thread;
	const struct task *task;

	if (!state || state->state != BLOCKED)
		return 0;
	o->has_ended = true;
	state = attar_states_set_u64(o->states, key, ATTAR_NO_STATE, &at);
	if (!state)
		return -ENOMEM;
	if (state->ended != BLOCKED || state->duration <= o->than)
		return 0;
	thread = attar_run_thread(run, tid);
	task = state->value;
	if (!thread || !attar_run_is_selected(run, thread))
		return 0;
	if (task->is_perf || is_unsplit)
		left_out_add(task->is_perf ? &o->perf : &o->unwoken, state->duration);
	return task->is_perf
		       ? 0
		       : add_block(o, run, ev, thread, task, state->duration, waker, is_unsplit);
}

/* ---- events ---- */

enum { PREV_PID, PREV_STATE, PREV_COMM, NEXT_PID };

static bool is_blocked(const struct offcpu *o, uint64_t prev_state)
{
	return o->uninterruptible ? prev_is_uninterruptible(prev_state)
				  : prev_is_blocked(prev_state);
}

/* A thread that an idle CPU switches to has not waited for the CPU. */
static int on_switch(struct attar_run *run, void *self, const struct attar_event *ev)
{
	static const struct waker unknown = {0};
	struct offcpu *o = self;
	const struct attar_stamp at = stamp_at(ev);
	uint64_t prev = attar_arg_u64(ev, PREV_PID);
	pid_t next = (pid_t)attar_arg_i64(ev, NEXT_PID);
	int r = next ? end_block(o, run, ev, next, &unknown, prev != 0) : 0;
	struct attar_state *state;
	struct task *task;

	pass_over_others(o, run, (pid_t)prev, next);
	if (r == 0)
		r = former_waits_note(run, &o->former, next, ev->time);
	if (r == 0)
		r = former_waits_note(run, &o->former, (pid_t)prev, ev->time);
	if (r < 0 || !prev || !is_blocked(o, attar_arg_u64(ev, PREV_STATE)) ||
		!may_be_selected(o, run, (pid_t)prev) ||
		!attar_run_is_cpu_selected(run, (int)ev->cpu))
		return r;
	state = attar_states_get(o->states, &prev, sizeof(prev));
	if (state && state->state == BLOCKED) { /* its end was not delivered */
		o->endless++;
		attar_states_set_u64(o->states, prev, ATTAR_NO_STATE, &at);
	}
	state = attar_states_set_u64(o->states, prev, BLOCKED, &at);
	if (!state)
		return -ENOMEM;
	attar_state_set_group(o->states, state, "", 0); /* its table is not used */
	task = state->value;
	copy_comm(task->comm, ev, PREV_COMM);
	task->depth = (uint16_t)attar_event_stack(ev, task->stack, DEPTH_MAX);
	task->is_perf = frames_are_of_perf(o->frames, task->stack, task->depth);
	return 0;
}

static int on_waking(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct offcpu *o = self;
	uint64_t tid = attar_arg_u64(ev, WAKERS_TID);
	const struct attar_state *state;
	struct waker waker;
	int r = former_waits_note(run, &o->former, (pid_t)tid, ev->time);

	if (r < 0)
		return r;
	state = attar_states_get(o->states, &tid, sizeof(tid));
	pass_over_others(o, run, (pid_t)tid, (pid_t)tid);
	if (!state || state->state != BLOCKED)
		return 0;
	wakers_read(&o->wakers, run, ev, &waker);
	return end_block(o, run, ev, (pid_t)tid, &waker, false);
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct offcpu *o = self;

	(void)run;
	attar_states_lost(o->states, -1, ev->lost_from, ev->lost_to);
	return 0;
}

static int on_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	held_command_ends(&((struct offcpu *)self)->held, run, ev);
	return 0;
}

static int on_exit_of(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct offcpu *o = self;
	const struct attar_stamp at = stamp_at(ev);
	uint64_t key = ev->thread ? (uint64_t)ev->thread->tid : 0;

	(void)run;
	if (key)
		attar_states_exit(o->states, &key, sizeof(key), &at);
	return 0;
}

/* ---- reporting ---- */

typedef void add_key_fn(const struct offcpu *o, const struct attar_run *run,
	struct attar_section *table, const struct attar_keyrow *row);

static int add_table(const struct offcpu *o, const struct attar_run *run,
	struct attar_section *table, struct attar_keytable *from, enum attar_scope scope,
	add_key_fn *add_key)
{
	int r = attar_keytable_end_interval(from);
	struct attar_keyrow **rows;
	bool has_unsplit = false;
	size_t n;

	if (r == 0)
		r = attar_keytable_rows(from, scope, 0, &rows, &n);
	if (r < 0)
		return r;
	attar_section_hist_columns(table, ATTAR_UNIT_NS);
	for (size_t i = 0; i < n; i++)
		has_unsplit |= attar_keyrow_sums(rows[i], scope)->sums[SUM_UNSPLIT] > 0;
	if (has_unsplit)
		attar_section_column(table, "unsplit", ATTAR_UNIT_NS);
	for (size_t i = 0; i < n; i++) {
		attar_section_row(table);
		add_key(o, run, table, rows[i]);
		attar_cell_hist(table, &attar_keyrow_sums(rows[i], scope)->hists[0]);
		if (has_unsplit)
			attar_cell_u64(table, attar_keyrow_sums(rows[i], scope)->sums[SUM_UNSPLIT]);
	}
	free(rows);
	return 0;
}

static void add_task(const struct offcpu *o, const struct attar_run *run,
	struct attar_section *table, const struct attar_keyrow *row)
{
	task_by_cells(run, o->by, table, row->key);
}

static void add_pair(const struct offcpu *o, const struct attar_run *run,
	struct attar_section *table, const struct attar_keyrow *row)
{
	(void)o;
	(void)run;
	const struct pair *pair = row->key;

	attar_cell_text(table, pair ? pair->comm : "[others]");
	attar_cell_text(table, pair ? *pair->waker ? pair->waker : "[unknown]" : "");
}

static int report_stacks(struct offcpu *o, struct attar_run *run, struct attar_report *report,
	enum attar_scope scope)
{
	struct attar_stacks_opts opts = {.size = sizeof(opts),
		.weight = "blocked",
		.unit = ATTAR_UNIT_NS,
		.tree = !o->chains};
	double unresolved = 0;
	int r = attar_stacks_report(o->blocked, report, scope, &opts, &unresolved);

	run_unresolved(run, unresolved);
	if (r < 0 || !o->chains)
		return r;
	opts.no_table = opts.tree = true;
	return attar_stacks_report(o->chains, report, scope, &opts, &unresolved);
}

static bool is_open_block(const void *self, const struct attar_wait *wait)
{
	return !((const struct offcpu *)self)->uninterruptible || wait->state == 'D';
}

static uint64_t blocked_since(const struct attar_run *run, const void *self, pid_t tid)
{
	const struct offcpu *o = self;

	return open_waits_since(run, o->states, tid, BLOCKED);
}

static void remark_unsplit(struct offcpu *o, struct attar_report *report, enum attar_scope scope)
{
	const struct left_out part = left_out_take(&o->unwoken, scope);

	if (part.n)
		attar_report_remark(report,
			"blocks whose wakeup was not delivered: %llu, %.1f ms in all; their time "
			"(column 'unsplit') includes waiting for a CPU",
			(unsigned long long)part.n, (double)part.sum / 1e6);
}

/* Blocks may have time that the kernel counts as waiting for a CPU, or on one. */
static int check_times(struct offcpu *o, struct attar_run *run, struct attar_report *report,
	enum attar_scope scope)
{
	const struct attar_keyrow *row = NULL;
	struct thread_seen *seen;
	size_t n = 0;
	int r;

	if (o->than || o->by != BY_THREAD)
		return 0;
	seen = calloc(attar_keytable_keys(o->threads) + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	while ((row = attar_keytable_next(o->threads, row))) {
		seen[n].tid = (pid_t)((const struct task_key_of *)row->key)->id;
		seen[n++].times[CHECK_OFF] = attar_keyrow_sums(row, scope)->sums[SUM_ALL];
	}
	r = thread_check_report(
		run, &o->check, report, scope, seen, n, 1U << CHECK_OFF | CHECK_ONLY_MORE);
	free(seen);
	return r;
}

static int offcpu_turn(struct attar_run *run, void *self)
{
	struct offcpu *o = self;
	int r = thread_check_turn(run, &o->check);

	return r == 0 ? former_waits_turn(run, &o->former) : r;
}

static int offcpu_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct offcpu *o = self;
	struct attar_section *table =
		attar_report_table(report, o->by == BY_THREAD ? "threads" : "blocked");
	int r;

	task_by_columns(o->by, table, "");
	r = add_table(o, run, table, o->threads, scope, add_task);
	if (r == 0 && o->chains) {
		table = attar_report_table(report, "wakers");
		attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
		attar_section_column(table, "waker", ATTAR_UNIT_TEXT);
		r = add_table(o, run, table, o->pairs, scope, add_pair);
	}
	attar_report_dropped(report, o->states, "blocks");
	if (o->endless)
		attar_report_remark(report, "blocks left out because their end was missed: %llu%s",
			(unsigned long long)o->endless,
			o->has_ended || attar_run_is_live(run)
				? ""
				: "; use recordings of the whole system (attar record -a)");
	remark_unsplit(o, report, scope);
	left_out_remark_perf(&o->perf, report, scope);
	attar_report_evicted(report, o->threads, "threads");
	if (r == 0)
		r = check_times(o, run, report, scope);
	if (r == 0)
		r = open_waits_report(run, report, scope,
			&(struct open_waits_opts){.self = o,
				.is_wanted = is_open_block,
				.since = blocked_since,
				.former = &o->former,
				.than = o->than});
	return r == 0 ? report_stacks(o, run, report, scope) : r;
}

/* ---- life ---- */

#define SWITCH                                                                                     \
	.event = "sched:sched_switch",                                                             \
	.fields = {"prev_pid", "prev_state", "prev_comm", "next_pid"}, .on_event = on_switch,      \
	.stacks = true

static const struct attar_input inputs[] = {{SWITCH}, {WAKERS_EVENT, .on_event = on_waking}, {0}},
				inputs_with_waker[] = {{SWITCH},
					{WAKERS_EVENT, .on_event = on_waking, .stacks = true}, {0}};

static int open_tables(struct offcpu *o, struct attar_symbols *symbols)
{
	const struct attar_states_opts states = {.size = sizeof(states),
		.states = STATES,
		.value_size = sizeof(struct task),
		.group_max = 1};
	const struct attar_keytable_opts threads = {.size = sizeof(threads),
		.sums = SUMS,
		.hists = 1,
		.key_max = sizeof(struct task_key_of),
		.keys_max = KEYS_MAX};
	const struct attar_keytable_opts pairs = {.size = sizeof(pairs),
		.sums = SUMS,
		.hists = 1,
		.key_max = sizeof(struct pair),
		.keys_max = KEYS_MAX};
	int r = attar_states_new(&states, &o->states);

	if (r == 0)
		r = attar_keytable_new(&threads, &o->threads);
	if (r == 0)
		r = attar_keytable_new(&pairs, &o->pairs);
	if (r == 0)
		r = attar_stacks_new(symbols, &o->blocked);
	return r == 0 && o->with_waker ? attar_stacks_new(symbols, &o->chains) : r;
}

static int offcpu_open(struct attar_run *run, void *self)
{
	struct offcpu *o = self;
	int r = task_by_parse(run, o->by_text, &o->by);

	if (r == 0)
		r = attar_run_select_tasks(run);
	attar_run_all_cpus(run, true);
	if (r == 0)
		r = attar_run_keep_own(run);
	if (r == 0)
		r = attar_run_inputs(run, o->with_waker ? inputs_with_waker : inputs);
	kernel_names_read(run); /* for the entries of interrupts, too */
	o->frames = frames_new(attar_run_symbols(run));
	if (!o->frames)
		return -ENOMEM;
	o->separator = attar_symbols_label(attar_run_symbols(run), "-- woken up by");
	if (r == 0)
		r = open_tables(o, attar_run_symbols(run));
	if (r == 0)
		task_by_stacks(run, o->by, o->blocked);
	if (r == 0 && o->chains)
		task_by_stacks(run, o->by, o->chains);
	return r;
}

static void offcpu_defaults(void *self)
{
	((struct offcpu *)self)->with_waker = -1;
}

static void offcpu_close(void *self)
{
	struct offcpu *o = self;

	frames_free(o->frames);
	attar_states_free(o->states);
	attar_keytable_free(o->threads);
	attar_keytable_free(o->pairs);
	attar_stacks_free(o->blocked);
	attar_stacks_free(o->chains);
	thread_check_done(&o->check);
	former_waits_done(&o->former);
}

static const struct attar_option options[] = {
	ATTAR_FLAG(struct offcpu, uninterruptible, 'D', "uninterruptible",
		"only uninterruptible sleeps (D), such as waiting for a disk"),
	ATTAR_SWITCH(struct offcpu, with_waker, "waker",
		"append the stack of the waker to each stack (default)"),
	ATTAR_TEXT(struct offcpu, by_text, 0, "by", "WHAT",
		"rows by " TASK_BY_HELP " (default thread), which are also above the stacks"),
	ATTAR_TIME(struct offcpu, than, 0, "than", "TIME",
		"only longer blocks, and print each: nanoseconds, or with a unit: 4ms", .bare = 1),
	{0}};

static const struct attar_example examples[] = {
	{"offcpu -p 1234 -d 10s -o off.html", "where a process waits, and its wakers"},
	{"offcpu --flame-graph off.folded -- make", "blocked time of a command as folded stacks"},
	{"offcpu -D --than 10ms", "waits for disks and other devices that are longer than 10 ms"},
	{0}};

const struct attar_profiler profiler_offcpu = {
	.name = "offcpu",
	.group = "Scheduling",
	.summary = "time that tasks are blocked, by stack and by waker",
	.uses = ATTAR_USES_RINGS | ATTAR_USES_STACKS | ATTAR_GIVES_TREE,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct offcpu),
	.options = options,
	.examples = examples,
	.defaults = offcpu_defaults,
	.open = offcpu_open,
	.lost = on_lost,
	.exited = on_exit_of,
	.record = on_record,
	.report = offcpu_report,
	.close = offcpu_close,
	.turn = offcpu_turn,
};
