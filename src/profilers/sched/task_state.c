/* SPDX-License-Identifier: MIT */
/*
 * task-state: the time that tasks spend running, waiting for a CPU, and sleeping. A context switch
 * ends the running of one task and begins the running of another; a wakeup ends a sleep.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/private/states.h"
#include "attar/run.h"
#include "attar/states.h"
#include "lib/held_command.h"
#include "lib/list_options.h"
#include "lib/name_filter.h"
#include "lib/prev_state.h"
#include "lib/task_by.h"
#include "sched/open_waits.h"
#include "sched/thread_check.h"

enum {
	COMM_BYTES = 16, /* of the kernel, with a NUL */
	DEPTH_MAX = 64,
	GROUP_BYTES = 24, /* an id and a name */
	GROUPS_MAX = 16384,
};

enum state { R, RD, S, D, T, TRACED, I, PARKED, STATES };

static const struct {
	const char *name, *meaning;
} names[STATES] = {
	[R] = {"R", "running"},
	[RD] = {"RD", "run delay"},
	[S] = {"S", "sleeping"},
	[D] = {"D", "uninterruptible"},
	[T] = {"T", "stopped"},
	[TRACED] = {"t", "traced"},
	[I] = {"I", "idle"},
	[PARKED] = {"P", "parked"},
};

/* The block of a task. */
struct task {
	char comm[COMM_BYTES];
	char recorded[COMM_BYTES]; /* the same in the newest event, with the bytes after the NUL */
	bool known, is_selected;
	uint64_t number;        /* of --by, or of the thread */
	uint16_t depth;         /* locations in stack */
	/* ns in the rows so far, or in open segments; of these, in former reports. */
	uint64_t times[CHECK_TIMES], reported[CHECK_TIMES];
	bool has_events;
	attar_location stack[]; /* where it was switched out; with -g */
};

/* The rows of a state; padded with zeros. */
struct unsplit_key {
	char group[GROUP_BYTES];
	uint64_t state;
};

/* A segment as an event of another profiler, see format. */
struct emitted {
	uint16_t common_type;
	uint8_t common_flags, common_preempt_count;
	int32_t common_pid;
	int32_t tid;
	char comm[COMM_BYTES];
	char state[4];
	uint64_t duration; /* ns */
};

_Static_assert(sizeof(struct emitted) == 40 && offsetof(struct emitted, duration) == 32, "format");

static const char format[] =
	"name: task-state\n"
	"ID: 0\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:pid_t tid;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:char comm[16];\toffset:12;\tsize:16;\tsigned:0;\n"
	"\tfield:char state[4];\toffset:28;\tsize:4;\tsigned:0;\n"
	"\tfield:u64 duration;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\n"
	"print fmt: \"tid=%d comm=%s state=%s duration=%llu\", REC->tid, REC->comm, REC->state, "
	"REC->duration\n";

struct task_state {
	const char *filter; /* names, with * and ? */
	const char *by_text;
	bool sleeping, uninterruptible, no_interruptible;
	bool per_thread, per_process, per_comm;
	enum task_by by; /* beyond threads and processes */
	bool graph, kernel_filter;
	uint64_t than;            /* ns */
	bool has_ended;           /* emits: a segment that is longer than that, at the event */
	bool selects_cpus, emits; /* --cpus; it is an event of another profiler */
	bool has_joiners;         /* a task can be selected later: --cgroups */
	bool shows_segments;      /* each, in addition to the table */

	struct held_command held;
	struct attar_states *states;
	struct attar_keytable *unsplit; /* ns by struct unsplit_key */
	struct thread_check check;
	struct former_waits former;
	bool takes_stacks;           /* for -g, or for outputs that are made for trees */
	struct attar_stacks *stacks; /* time by stack; NULL: not taken */
};

/* ---- which tasks and states ---- */

static bool is_state_shown(const struct task_state *ts, uint32_t state)
{
	if (ts->sleeping || ts->uninterruptible)
		return (ts->sleeping && state == S) || (ts->uninterruptible && state == D);
	return !ts->no_interruptible || state != S;
}

static enum state sleep_of(uint64_t prev_state)
{
	if (prev_is_idle(prev_state))
		return I;
	if (prev_state & PREV_SLEEPS)
		return S;
	if (prev_state & PREV_UNINTERRUPTIBLE)
		return D;
	if (prev_state & PREV_STOPPED)
		return T;
	if (prev_state & PREV_TRACED)
		return TRACED;
	return prev_state & PREV_PARKED ? PARKED : RD;
}

/* ---- changes ---- */

static size_t make_group(const struct task_state *ts, const struct attar_run *run,
	const struct task *task, pid_t tid, char group[static GROUP_BYTES])
{
	const struct attar_thread *thread;
	uint64_t id = (uint64_t)tid;
	size_t size = sizeof(id); /* a key of 8 bytes is found fastest */

	memset(group, 0, GROUP_BYTES);
	if (ts->per_process && (thread = attar_run_thread(run, tid)))
		id = task_by_number(run, BY_PROCESS, thread);
	if (ts->by != BY_THREAD || ts->per_thread)
		id = task->number;
	if (ts->per_thread || ts->per_process || ts->by != BY_THREAD)
		memcpy(group, &id, sizeof(id));
	if (ts->per_thread || ts->per_comm) {
		memcpy(group + sizeof(id), task->comm, COMM_BYTES);
		size = GROUP_BYTES;
	}
	return size;
}

static void set_group(struct task_state *ts, struct attar_run *run, struct attar_state *state,
	const struct task *task, pid_t tid)
{
	char group[GROUP_BYTES];
	size_t size = make_group(ts, run, task, tid, group);

	attar_state_set_group(ts->states, state, group, size);
}

static bool is_selected(const struct task_state *ts, const struct attar_run *run,
	const struct task *task, const struct attar_thread *thread)
{
	if (ts->filter && !names_match(ts->filter, task->comm))
		return false;
	return attar_run_is_selected(run, thread);
}

static void set_task(struct task_state *ts, struct attar_run *run, struct attar_state *state,
	pid_t tid, const char *comm, size_t n)
{
	const struct attar_thread *thread = attar_run_thread(run, tid);
	struct task *task = state->value;
	const bool was_selected = task->is_selected;

	memset(task->comm, 0, COMM_BYTES);
	memcpy(task->comm, comm ? comm : "", n);
	task->known = thread != NULL; /* otherwise its process is not known yet */
	task->is_selected = is_selected(ts, run, task, thread);
	task->number = ts->by != BY_THREAD ? task_by_number(run, ts->by, thread)
		       : thread            ? task_by_life(thread)
					   : (uint64_t)tid;
	if (was_selected && !task->is_selected) /* its next changes are not seen */
		state_forget(ts->states, state);
	set_group(ts, run, state, task, tid);
}

/* Decides about a task when it is new or has changed its name. */
static void decide(struct task_state *ts, struct attar_run *run, struct attar_state *state,
	pid_t tid, const struct attar_event *ev, unsigned comm_field)
{
	struct task *task = state->value;
	size_t n;
	const void *bytes = attar_arg_bytes(ev, comm_field, &n);
	const char *comm;

	if (bytes && n == COMM_BYTES)
		memcpy(task->recorded, bytes, n);
	comm = attar_arg_text(ev, comm_field, &n);
	n = n < COMM_BYTES ? n : COMM_BYTES - 1;
	if (!task->known || memcmp(task->comm, comm ? comm : "", n) != 0 || task->comm[n])
		set_task(ts, run, state, tid, comm, n);
}

static bool has_joined(const struct task_state *ts, const struct attar_run *run,
	const struct task *task, pid_t tid)
{
	return ts->has_joiners && !task->is_selected &&
	       attar_run_is_selected(run, attar_run_thread(run, tid));
}

/* Into another control group, or it has another user. */
static bool has_moved(const struct task_state *ts, const struct attar_run *run,
	const struct task *task, pid_t tid)
{
	return ts->by != BY_THREAD &&
	       task->number != task_by_number(run, ts->by, attar_run_thread(run, tid));
}

/* The name is rarely another one than in the event before. */
static inline void check_task(struct task_state *ts, struct attar_run *run,
	struct attar_state *state, pid_t tid, const struct attar_event *ev, unsigned comm_field)
{
	struct task *task = state->value;
	size_t n;
	const void *bytes = attar_arg_bytes(ev, comm_field, &n);

	if (has_joined(ts, run, task, tid) || has_moved(ts, run, task, tid))
		task->known = false;
	if (n != COMM_BYTES || !task->known || memcmp(bytes, task->recorded, COMM_BYTES) != 0)
		decide(ts, run, state, tid, ev, comm_field);
}

static void columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "cpu", ATTAR_UNIT_ID);
	attar_section_column(lines, "state", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "duration", ATTAR_UNIT_NS);
	attar_section_main(lines);
}

/* A line for a long segment, with the stack at which the task was switched out. */
static void add_line(const struct task_state *ts, struct attar_run *run,
	const struct attar_state *state, pid_t tid, const struct attar_event *ev)
{
	const struct task *task = state->value;
	struct attar_section *lines = attar_run_lines(run, "segments", columns);

	if (!lines)
		return;
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_text(lines, task->comm);
	attar_cell_i64(lines, tid);
	attar_cell_u64(lines, ev->cpu);
	attar_cell_text(lines, names[state->ended].name);
	attar_cell_u64(lines, state->duration);
	if (ts->graph && state->ended != R)
		attar_row_stack(lines, attar_run_symbols(run), task->stack, task->depth);
}

static int add_span(struct attar_run *run, const struct attar_state *state,
	const struct attar_thread *thread, const struct attar_event *ev, uint64_t stack)
{
	const struct attar_span span = {.begin = ev->time - state->duration,
		.end = ev->time,
		.thread = thread,
		.cpu = state->ended == R ? (int32_t)ev->cpu : -1,
		.category = "state",
		.name = names[state->ended].meaning,
		.stack = stack,
		.weight = state->duration};

	return attar_run_wants(run, ATTAR_WANT_SPANS) ? attar_run_add_span(run, &span) : 0;
}

static int emit(struct task_state *ts, struct attar_run *run, const struct attar_state *state,
	pid_t tid, const struct attar_event *ev)
{
	struct emitted emitted = {.tid = tid, .duration = state->duration};
	const struct attar_sample *s = &ev->record->sample;

	if (state->duration <= ts->than)
		return 0;
	if (s->raw && s->raw_size >= offsetof(struct emitted, tid))
		memcpy(&emitted, s->raw, offsetof(struct emitted, tid));
	memcpy(emitted.comm, ((const struct task *)state->value)->comm, COMM_BYTES);
	memcpy(emitted.state, names[state->ended].name, strlen(names[state->ended].name));
	ts->has_ended = true;
	return run_emit(run, &emitted);
}

static int show_segment(struct task_state *ts, struct attar_run *run, struct attar_state *state,
	pid_t tid, const struct attar_event *ev)
{
	const struct task *task = state->value;
	const struct attar_thread *thread;
	uint64_t stack = 0;
	int r = 0;

	if (state->ended == ATTAR_NO_STATE || !is_state_shown(ts, state->ended))
		return 0;
	if (ts->emits)
		return emit(ts, run, state, tid, ev);
	if (ts->than && state->duration > ts->than && attar_run_wants(run, ATTAR_WANT_LINES))
		add_line(ts, run, state, tid, ev);
	if (!attar_run_wants(run, ATTAR_WANT_SPANS) &&
		(!ts->stacks || state->ended == R || state->duration <= ts->than))
		return 0;
	thread = attar_run_thread(run, tid);
	if (!thread)
		return 0;
	if (ts->stacks && state->ended != R && state->duration > ts->than)
		r = attar_stacks_add_span(
			ts->stacks, thread, task->stack, task->depth, state->duration, &stack);
	return r == 0 ? add_span(run, state, thread, ev, stack) : r;
}

/* The table of times needs nothing else. */
static inline int end_segment(struct task_state *ts, struct attar_run *run,
	struct attar_state *state, pid_t tid, const struct attar_event *ev)
{
	return ts->shows_segments ? show_segment(ts, run, state, tid, ev) : 0;
}

static enum thread_check_time time_of_state(uint32_t state)
{
	return state == R ? CHECK_RUNNING : state == RD ? CHECK_READY : CHECK_OFF;
}

/* What a task did before its first event is not in the rows: it slept unless it ran. */
static int note_first(struct task_state *ts, struct attar_run *run, struct task *task, pid_t tid,
	const struct attar_event *ev, bool was_off)
{
	const struct attar_thread *thread;
	uint64_t since;

	if (task->has_events)
		return 0;
	task->has_events = true;
	thread = attar_run_thread(run, tid);
	since = attar_run_began(run);
	if (thread && thread->started > since)
		since = thread->started;
	if (was_off && ev->time > since)
		task->times[CHECK_OFF] += ev->time - since;
	return former_waits_note(run, &ts->former, tid, ev->time);
}

static struct attar_stamp stamp_of(const struct attar_event *ev)
{
	return (struct attar_stamp){.time = ev->time, .task = ATTAR_NO_TASK, .cpu = (int)ev->cpu};
}

/* Of --cpus, the CPU on which the task begins a state selects it: others are not followed. */
static int change(struct task_state *ts, struct attar_run *run, struct attar_state *state,
	uint32_t to, const struct attar_event *ev, int cpu)
{
	const struct attar_stamp at = stamp_of(ev);

	int r;

	if (ts->selects_cpus && !attar_run_is_cpu_selected(run, cpu))
		to = ATTAR_NO_STATE;
	r = state_change(ts->states, state, to, &at);
	if (state->ended != ATTAR_NO_STATE)
		((struct task *)state->value)->times[time_of_state(state->ended)] +=
			state->duration;
	return r;
}

/*
 * The task is switched in, but its wakeup was not seen: it waited for the CPU in the last part of
 * the segment that ended. One that an idle CPU switches to has not waited.
 */
static int note_unsplit(
	struct task_state *ts, struct attar_run *run, const struct attar_state *state, pid_t tid)
{
	const struct task *task = state->value;
	struct unsplit_key key = {.state = state->ended};
	struct attar_keyrow *row;

	if (state->ended == ATTAR_NO_STATE || state->ended == R || state->ended == RD)
		return 0;
	make_group(ts, run, task, tid, key.group);
	row = attar_keytable_at(ts->unsplit, &key, sizeof(key));
	if (!row)
		return -ENOMEM;
	row->interval.sums[0] += state->duration;
	return 0;
}

/* Finds or adds a task. Returns 1; 0: it is not selected; -ENOMEM. */
static int find_task(struct task_state *ts, struct attar_run *run, pid_t tid,
	const struct attar_event *ev, unsigned comm_field, struct attar_state **ret_state)
{
	struct attar_state *state;

	if (held_command_is(&ts->held, run, tid))
		return 0;
	state = states_at_u64(ts->states, (uint64_t)tid);
	if (!state)
		return -ENOMEM;
	check_task(ts, run, state, tid, ev, comm_field);
	*ret_state = state;
	return ((const struct task *)state->value)->is_selected;
}

/* ---- events ---- */

enum { PREV_PID, PREV_STATE, PREV_COMM, NEXT_PID, NEXT_COMM };

/* 1; 0: the task is not selected; or a negative errno. */
static int switch_out(struct task_state *ts, struct attar_run *run, const struct attar_event *ev)
{
	uint64_t prev_state = attar_arg_u64(ev, PREV_STATE);
	pid_t tid = (pid_t)attar_arg_i64(ev, PREV_PID);
	struct attar_state *state;
	struct task *task;
	int r = find_task(ts, run, tid, ev, PREV_COMM, &state);

	if (r <= 0)
		return r;
	r = note_first(ts, run, state->value, tid, ev, false);
	if (r < 0)
		return r;
	if (state->state != R && state->state != ATTAR_NO_STATE) /* the switch to it is missing */
		state_drop(ts->states, state);
	r = change(ts, run, state,
		prev_has_exited(prev_state) ? ATTAR_NO_STATE : sleep_of(prev_state), ev,
		(int)ev->cpu);
	if (r == 0)
		r = end_segment(ts, run, state, tid, ev);
	task = state->value;
	if (ts->takes_stacks)
		task->depth = (uint16_t)attar_event_stack(ev, task->stack, DEPTH_MAX);
	if (prev_has_exited(prev_state)) {
		const struct attar_stamp at = stamp_of(ev);
		uint64_t key = (uint64_t)tid;

		attar_states_exit(ts->states, &key, sizeof(key), &at);
	}
	return r < 0 ? r : 1;
}

static int on_switch(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_state *ts = self;
	pid_t next = (pid_t)attar_arg_i64(ev, NEXT_PID);
	struct attar_state *state;
	int was_selected = attar_arg_i64(ev, PREV_PID) ? switch_out(ts, run, ev) : 0, r = 0;

	if (was_selected < 0)
		return was_selected;
	if (next) /* not the idle task */
		r = find_task(ts, run, next, ev, NEXT_COMM, &state);
	if (r == 0 && !was_selected)
		attar_run_pass_over(run);
	if (r <= 0)
		return r;
	r = note_first(ts, run, state->value, next, ev, true);
	if (r < 0)
		return r;
	if (state->state == R) /* the switch from it is missing */
		state_drop(ts->states, state);
	r = change(ts, run, state, R, ev, (int)ev->cpu);
	if (r == 0 && attar_arg_i64(ev, PREV_PID))
		r = note_unsplit(ts, run, state, next);
	return r < 0 ? r : end_segment(ts, run, state, next, ev);
}

enum { PID, COMM, TARGET_CPU };

/* The CPU on whose queue the task is put. */
static int wakeup_cpu(const struct attar_event *ev)
{
	return attar_arg_exists(ev, TARGET_CPU) ? (int)attar_arg_u64(ev, TARGET_CPU) : (int)ev->cpu;
}

/* A task that is woken up before it is switched out continues to run. */
static int on_wakeup(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_state *ts = self;
	pid_t tid = (pid_t)attar_arg_i64(ev, PID);
	struct attar_state *state;
	int r = tid ? find_task(ts, run, tid, ev, COMM, &state) : 0;

	if (r == 0)
		attar_run_pass_over(run);
	if (r <= 0 || state->state == R || state->state == RD)
		return r < 0 ? r : 0;
	r = note_first(ts, run, state->value, tid, ev, true);
	if (r < 0)
		return r;
	r = change(ts, run, state, RD, ev, wakeup_cpu(ev));
	return r < 0 ? r : end_segment(ts, run, state, tid, ev);
}

/* The event of a long segment has the time of the switch or wakeup that ends it. */
static int task_state_emits(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_state *ts = self;
	int r;

	ts->has_ended = false;
	r = ev->counter == 0 ? on_switch(run, self, ev) : on_wakeup(run, self, ev);
	return r < 0 ? r : ts->has_ended;
}

/* At its exec, the command begins to run. */
static int on_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_thread *thread = ev->thread;
	struct task_state *ts = self;
	struct attar_state *state;

	if (!held_command_ends(&ts->held, run, ev) || !thread)
		return 0;
	state = states_at_u64(ts->states, (uint64_t)thread->tid);
	if (!state)
		return -ENOMEM;
	set_task(ts, run, state, thread->tid, thread->comm, strnlen(thread->comm, COMM_BYTES - 1));
	if (!((const struct task *)state->value)->is_selected)
		return 0;
	return change(ts, run, state, R, ev, (int)ev->cpu);
}

/* One that leaves its control group; the last switch of one that exits follows. */
static int on_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_state *ts = self;
	const struct attar_stamp at = stamp_of(ev);
	struct attar_state *state;
	int r;

	if (ev->record->type == PERF_RECORD_EXIT || !ev->thread || ts->emits)
		return 0;
	state = states_at_u64(ts->states, (uint64_t)ev->thread->tid);
	if (!state)
		return -ENOMEM;
	if (!((const struct task *)state->value)->is_selected)
		return 0;
	r = state_change(ts->states, state, ATTAR_NO_STATE, &at);
	((struct task *)state->value)->is_selected = false;
	return r < 0 ? r : end_segment(ts, run, state, ev->thread->tid, ev);
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_state *ts = self;

	(void)run;
	attar_states_lost(ts->states, -1, ev->lost_from, ev->lost_to);
	return 0;
}

/* ---- reporting ---- */

/* The time of a group's rows in a state that may include waiting for a CPU. */
static uint64_t unsplit_of(const struct task_state *ts, const char *group, size_t size,
	uint64_t state, enum attar_scope scope)
{
	struct unsplit_key key = {.state = state};
	const struct attar_keyrow *row;

	if (group)
		memcpy(key.group, group, size < sizeof(key.group) ? size : sizeof(key.group));
	row = attar_keytable_find(ts->unsplit, &key, sizeof(key));
	return row ? attar_keyrow_sums(row, scope)->sums[0] : 0;
}

static void add_headings(const struct task_state *ts, struct attar_section *table, bool has_unsplit)
{
	if (ts->by != BY_THREAD)
		task_by_columns(ts->by, table, "");
	if (ts->per_thread)
		attar_section_column(table, "tid", ATTAR_UNIT_ID);
	if (ts->per_process)
		attar_section_column(table, "pid", ATTAR_UNIT_ID);
	if (ts->per_thread || ts->per_comm)
		attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(table, "state", ATTAR_UNIT_TEXT);
	attar_section_column(table, "meaning", ATTAR_UNIT_TEXT);
	attar_section_hist_columns(table, ATTAR_UNIT_NS);
	if (has_unsplit)
		attar_section_column(table, "unsplit", ATTAR_UNIT_NS);
}

/* group NULL: the row of all groups that the table has no room for. */
static void add_id(struct attar_section *table, const char *group)
{
	uint64_t id;

	if (!group) {
		attar_cell_none(table);
		return;
	}
	memcpy(&id, group, sizeof(id));
	attar_cell_i64(table, task_by_id((int64_t)id));
}

static void add_by(const struct task_state *ts, const struct attar_run *run,
	struct attar_section *table, const char *group)
{
	struct task_key_of key = {0};

	if (group)
		memcpy(&key.id, group, sizeof(key.id));
	task_by_cells(run, ts->by, table, group ? &key : NULL);
}

static void add_rows(const struct task_state *ts, const struct attar_run *run,
	struct attar_section *table, const struct attar_keyrow *row, enum attar_scope scope,
	bool has_unsplit)
{
	const struct attar_keysums *sums = attar_keyrow_sums(row, scope);
	const char *group = row->key;

	for (uint32_t s = 0; s < STATES; s++) {
		if (!sums->hists[s].count || !is_state_shown(ts, s))
			continue;
		attar_section_row(table);
		if (ts->by != BY_THREAD)
			add_by(ts, run, table, group);
		if (ts->per_thread || ts->per_process)
			add_id(table, group);
		if (ts->per_thread || ts->per_comm)
			attar_cell_text(table, group ? group + sizeof(uint64_t) : "[others]");
		attar_cell_text(table, names[s].name);
		attar_cell_text(table, names[s].meaning);
		attar_cell_hist(table, &sums->hists[s]);
		if (has_unsplit)
			attar_cell_u64(table, unsplit_of(ts, group, row->key_size, s, scope));
	}
}

static void add_remarks(const struct task_state *ts, struct attar_report *report)
{
	struct attar_states_stats stats;

	attar_report_dropped(report, ts->states, "segments of time");
	attar_states_get_stats(ts->states, &stats);
	if (stats.evicted)
		attar_report_remark(report,
			"segments of time left out because of too many tasks or lack of "
			"memory: %llu",
			(unsigned long long)stats.evicted);
	attar_report_evicted(report, attar_states_table(ts->states), "tasks");
}

/* Whether the time in which tasks waited for a CPU after their wakeup is in other states. */
static int end_unsplit(struct task_state *ts, struct attar_report *report, enum attar_scope scope,
	bool *ret_has_unsplit)
{
	const struct attar_keyrow *row = NULL;
	uint64_t sum = 0;
	int r = attar_keytable_end_interval(ts->unsplit);

	while (r == 0 && (row = attar_keytable_next(ts->unsplit, row)))
		if (is_state_shown(ts, (uint32_t)((const struct unsplit_key *)row->key)->state))
			sum += attar_keyrow_sums(row, scope)->sums[0];
	if (sum)
		attar_report_remark(report,
			"tasks were switched in without an observed wakeup: %.1f ms of their "
			"states "
			"(column 'unsplit') includes waiting for a CPU",
			(double)sum / 1e6);
	*ret_has_unsplit = sum > 0;
	return r;
}

/* What was seen of a task since the last report, or the start, with its present state. */
static struct thread_seen seen_of(
	struct attar_run *run, const struct attar_state *state, enum attar_scope scope)
{
	struct task *task = state->value;
	struct thread_seen seen = {.tid = (pid_t) * (const uint64_t *)state->key};
	const uint64_t until = attar_run_until(run);
	const bool is_off =
		state->state != ATTAR_NO_STATE && state->state != R && state->state != RD;

	for (int i = 0; i < CHECK_TIMES; i++) {
		uint64_t time = task->times[i];

		/* the rows do not have it yet, but waits that have not ended are listed */
		if (i == CHECK_OFF && is_off && until > state->since)
			time += until - state->since;
		seen.times[i] = time;
		if (scope != ATTAR_SCOPE_INTERVAL)
			continue;
		seen.times[i] -= task->reported[i] < time ? task->reported[i] : time;
		task->reported[i] = time;
	}
	return seen;
}

static int check_times(struct task_state *ts, struct attar_run *run, struct attar_report *report,
	enum attar_scope scope)
{
	const struct attar_state *state = NULL;
	struct attar_states_stats stats;
	struct thread_seen *seen;
	unsigned times = 0;
	size_t n = 0;
	int r;

	if (ts->filter)
		return 0;
	for (uint32_t s = R; s <= S; s++)
		times |= is_state_shown(ts, s) ? 1U << time_of_state(s) : 0;
	if (!is_state_shown(ts, D))
		times &= ~(1U << CHECK_OFF);
	attar_states_get_stats(ts->states, &stats);
	seen = calloc(stats.keys + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	while (n < stats.keys && (state = attar_states_next(ts->states, state)))
		seen[n++] = seen_of(run, state, scope);
	r = thread_check_report(run, &ts->check, report, scope, seen, n, times);
	free(seen);
	return r;
}

static bool is_open_sleep(const void *self, const struct attar_wait *wait)
{
	static const char letters[] = "SDTt";
	static const enum state states[] = {S, D, T, TRACED};
	const char *letter = strchr(letters, wait->state);

	return letter && *letter && is_state_shown(self, states[letter - letters]);
}

static uint64_t sleeps_since(const struct attar_run *run, const void *self, pid_t tid)
{
	const struct task_state *ts = self;
	const uint64_t key = (uint64_t)tid;
	const struct attar_state *state = attar_states_get(ts->states, &key, sizeof(key));

	return open_waits_since(run, ts->states, tid, state ? state->state : S);
}

static int task_state_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct task_state *ts = self;
	const struct attar_stacks_opts by_time = {.size = sizeof(by_time),
		.weight = "time",
		.unit = ATTAR_UNIT_NS,
		.for_trees = !ts->graph};
	struct attar_keytable *times = attar_states_table(ts->states);
	struct attar_section *table = attar_report_table(report, "task-state");
	int r = attar_keytable_end_interval(times);
	struct attar_keyrow **rows;
	bool has_unsplit = false;
	size_t n;

	if (r == 0)
		r = end_unsplit(ts, report, scope, &has_unsplit);
	if (r == 0)
		r = attar_keytable_rows(times, scope, STATES, &rows, &n);
	if (r < 0)
		return r;
	add_headings(ts, table, has_unsplit);
	for (size_t i = 0; i < n; i++)
		add_rows(ts, run, table, rows[i], scope, has_unsplit);
	free(rows);
	add_remarks(ts, report);
	r = check_times(ts, run, report, scope);
	if (r == 0)
		r = open_waits_report(run, report, scope,
			&(struct open_waits_opts){.self = ts,
				.is_wanted = is_open_sleep,
				.since = sleeps_since,
				.former = &ts->former,
				.than = ts->than});
	return r == 0 ? attar_run_stacks(run, report, ts->stacks, scope, &by_time) : r;
}

/* ---- life ---- */

#define SWITCH                                                                                     \
	.event = "sched:sched_switch",                                                             \
	.fields = {"prev_pid", "prev_state", "prev_comm", "next_pid", "next_comm"},                \
	.on_event = on_switch

#define WAKEUP .fields = {"pid", "comm", "?target_cpu"}, .on_event = on_wakeup

static const struct attar_input inputs[] = {{SWITCH}, {.event = "sched:sched_wakeup", WAKEUP},
	{.event = "sched:sched_wakeup_new", WAKEUP}, {0}};
static const struct attar_input inputs_with_stacks[] = {{SWITCH, .stacks = true},
	{.event = "sched:sched_wakeup", WAKEUP}, {.event = "sched:sched_wakeup_new", WAKEUP}, {0}};

static int open_events(struct attar_run *run, struct task_state *ts)
{
	int r = attar_run_select_tasks(run);

	if (r == 0)
		r = attar_run_keep_own(run);
	ts->emits = run_emits(run);
	ts->has_joiners = attar_run_target_kind(run) == ATTAR_TARGET_CGROUPS;
	ts->selects_cpus = attar_run_all_cpus(run, true) > 0;
	if (r == 0 && ts->emits)
		r = run_emit_fields(run, format);
	if (r == 0)
		r = attar_run_inputs(run, ts->takes_stacks ? inputs_with_stacks : inputs);
	return r == 0 && ts->kernel_filter && ts->filter ? name_filter_set(run, 0, ts->filter) : r;
}

/* Threads and processes have options of their own. */
static int open_by(struct attar_run *run, struct task_state *ts)
{
	enum task_by by = BY_THREAD;
	int r = task_by_parse(run, ts->by_text, &by);

	if (r < 0 || !ts->by_text)
		return r;
	ts->per_thread |= by == BY_THREAD;
	ts->per_process |= by == BY_PROCESS;
	ts->by = task_by_has_id(by) ? BY_THREAD : by;
	return 0;
}

static int task_state_open(struct attar_run *run, void *self)
{
	struct task_state *ts = self;
	struct attar_states_opts opts = {.size = sizeof(opts),
		.states = STATES,
		.value_size = sizeof(struct task),
		.group_max = GROUP_BYTES,
		.groups_max = GROUPS_MAX};
	int r = open_by(run, ts);

	if (r < 0)
		return r;
	if (ts->per_thread + ts->per_process + ts->per_comm + (ts->by != BY_THREAD) > 1)
		return attar_fail(-EINVAL,
			"--perins, --per-process, --per-comm and --by are mutually exclusive");
	if (ts->no_interruptible && ts->sleeping)
		return attar_fail(
			-EINVAL, "--interruptible and --no-interruptible are mutually exclusive");
	ts->takes_stacks = ts->graph || attar_run_wants(run, ATTAR_WANT_TREE);
	r = open_events(run, ts);
	ts->takes_stacks &= !run_emits(run); /* the other profiler has the stacks */
	ts->shows_segments =
		ts->takes_stacks || ts->than || ts->emits || attar_run_wants(run, ATTAR_WANT_SPANS);
	if (ts->takes_stacks)
		opts.value_size += DEPTH_MAX * sizeof(attar_location);
	if (r == 0)
		r = attar_states_new(&opts, &ts->states);
	if (r == 0)
		r = attar_keytable_new(
			&(struct attar_keytable_opts){.size = sizeof(struct attar_keytable_opts),
				.sums = 1,
				.key_max = sizeof(struct unsplit_key),
				.keys_max = GROUPS_MAX},
			&ts->unsplit);
	if (r == 0 && ts->takes_stacks)
		r = attar_stacks_new(attar_run_symbols(run), &ts->stacks);
	return r;
}

static void task_state_close(void *self)
{
	struct task_state *ts = self;

	attar_states_free(ts->states);
	attar_keytable_free(ts->unsplit);
	thread_check_done(&ts->check);
	former_waits_done(&ts->former);
	attar_stacks_free(ts->stacks);
}

static int task_state_turn(struct attar_run *run, void *self)
{
	struct task_state *ts = self;
	int r = thread_check_turn(run, &ts->check);

	return r == 0 && !ts->emits ? former_waits_turn(run, &ts->former) : r;
}

#define OPTIONS struct task_state

static const struct attar_option options[] = {
	ATTAR_FLAG(OPTIONS, sleeping, 'S', "interruptible", "only interruptible sleeps (S)"),
	ATTAR_FLAG(OPTIONS, uninterruptible, 'D', "uninterruptible",
		"only uninterruptible sleeps (D)"),
	ATTAR_FLAG(OPTIONS, no_interruptible, 0, "no-interruptible",
		"all states except interruptible sleeps (S)"),
	ATTAR_FLAG(OPTIONS, per_thread, 0, "perins", "show each thread, under each of its names"),
	ATTAR_FLAG(OPTIONS, per_process, 0, "per-process", "show each process"),
	ATTAR_FLAG(OPTIONS, per_comm, 0, "per-comm", "show each name"),
	ATTAR_TEXT(OPTIONS, by_text, 0, "by", "WHAT", "show each " TASK_BY_HELP),
	ATTAR_JOINED(OPTIONS, filter, 0, "filter", "NAMES",
		"only threads with these names, separated by commas; * and ? match"),
	ATTAR_FLAG(OPTIONS, kernel_filter, 0, "kernel-filter",
		"the kernel applies --filter: fewer events are lost on a busy machine, but "
		"switches that it does not deliver are not noticed"),
	ATTAR_TIME(OPTIONS, than, 0, "than", "TIME",
		"print longer segments: nanoseconds, or with a unit: 4ms", .bare = 1),
	ATTAR_FLAG(OPTIONS, graph, 'g', "call-graph",
		"show time not running by the stack at which the task was switched out"),
	{0}};

static const struct attar_example examples[] = {
	{"task-state -i 1s", "the states of all tasks of the system, each second"},
	{"task-state --perins -- make", "each thread of a command"},
	{"task-state -p 1234 -SD --than 20ms -g", "long sleeps of a process, with stacks"}, {0}};

const struct attar_profiler profiler_task_state = {
	.name = "task-state",
	.group = "Scheduling",
	.summary = "time that tasks run, wait for a CPU, and sleep",
	.uses = ATTAR_USES_RINGS | ATTAR_GIVES_TREE | ATTAR_GIVES_SPANS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct task_state),
	.options = options,
	.examples = examples,
	.open = task_state_open,
	.lost = on_lost,
	.exited = on_exited,
	.record = on_record,
	.emits = task_state_emits,
	.report = task_state_report,
	.close = task_state_close,
	.turn = task_state_turn,
};
