/* SPDX-License-Identifier: MIT */
/*
 * Which thread is on which CPU, and which waits for one: from context switches, wakeups and
 * samples, also of recordings that lack some.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attar/private/states.h"
#include "lib/prev_state.h"
#include "lib/registers.h"
#include "sched/thread_times_internal.h"

enum { CPUS_MAX = 8192, IN_ORDER_MIN = 100 };

enum { PREV_PID, PREV_STATE, NEXT_PID };

static int end_thread(
	struct attar_run *run, struct thread_times *times, pid_t tid, const struct attar_stamp *at)
{
	uint64_t key = (uint64_t)tid;
	struct thread_block *block;
	int r = thread_times_change(run, times, tid, ATTAR_NO_STATE, at, false, &block);

	if (r >= 0)
		r = former_waits_note(run, &times->former, tid, at->time);
	attar_states_exit(times->states, &key, sizeof(key), at);
	return r < 0 ? r : 0;
}

/* For note_sample(). */
static void note_run(struct thread_times *times, pid_t tid, uint64_t until)
{
	const struct attar_state *state = thread_times_state(times, tid);
	struct thread_block *block = state ? state->value : NULL;
	uint64_t from;

	if (!block || state->state != THREAD_RUNNING)
		return;
	from = block->sampled > block->since ? block->sampled : block->since;
	block->ran += until > from ? until - from : 0;
}

static int switch_out(
	struct attar_run *run, struct thread_times *times, const struct attar_event *ev, pid_t tid)
{
	const struct attar_stamp at = thread_times_stamp(ev);
	attar_location stack[THREAD_DEPTH_MAX];
	const uint64_t prev_state = attar_arg_u64(ev, PREV_STATE);
	struct frame_summary frames;
	struct thread_block *block;
	bool is_mutex = false;
	uint32_t to;
	size_t n;
	int r;

	if (prev_has_exited(prev_state))
		return end_thread(run, times, tid, &at);
	if (!thread_times_selected(run, tid))
		return 0;
	if (!times->has_all_switches)
		note_run(times, tid, ev->time);
	n = attar_event_stack(ev, stack, THREAD_DEPTH_MAX);
	frames_read(times->frames, stack, n, &frames);
	if (prev_is_runnable(prev_state))
		to = THREAD_READY;
	else if (frames.is_perf)
		to = ATTAR_NO_STATE;
	else if (prev_is_stopped(prev_state)) /* at the end of any system call, or without one */
		to = THREAD_BLOCKED;
	else
		to = thread_times_why(run, times, ev, prev_is_uninterruptible(prev_state), &frames,
			stack, n, &is_mutex);
	r = thread_times_change(run, times, tid, to, &at, frames.is_kernel_thread, &block);
	if (r <= 0)
		return r;
	block->depth = (uint16_t)n;
	block->syscall = frames.syscall;
	block->is_mutex = is_mutex;
	block->is_stopped = prev_is_stopped(prev_state);
	block->has_events = true;
	block->perf_since = to == ATTAR_NO_STATE ? ev->time : 0;
	memcpy(block->stack, stack, n * sizeof(*stack));
	times->switches++;
	return 0;
}

/* tid, if it is selected, runs since then on the CPU of the event. */
static int set_running(struct attar_run *run, struct thread_times *times,
	const struct attar_event *ev, pid_t tid, uint64_t since)
{
	struct attar_stamp at = thread_times_stamp(ev);
	int32_t cpu = (int32_t)ev->cpu + 1;
	struct thread_block *block;
	int r;

	at.time = since;
	r = thread_times_change(run, times, tid, THREAD_RUNNING, &at, false, &block);
	if (r > 0 && former_waits_note(run, &times->former, tid, since) < 0)
		return -ENOMEM;
	if (r <= 0)
		return r;
	block->depth = 0;
	times->migrations += block->cpu && block->cpu != cpu;
	block->cpu = cpu;
	return 0;
}

/* The thread that was on a CPU, which is set; -1: unknown. */
static int32_t *current_of(struct thread_times *times, uint32_t cpu)
{
	size_t n = (size_t)cpu + 1;
	int32_t *more;

	if (cpu >= CPUS_MAX)
		return NULL;
	if (cpu < times->n_current)
		return &times->current[cpu];
	more = realloc(times->current, n * sizeof(*more));
	if (!more)
		return NULL;
	memset(more + times->n_current, -1, (n - times->n_current) * sizeof(*more));
	times->current = more;
	times->n_current = n;
	return &more[cpu];
}

/* The first that is seen of a CPU after a loss: tid has run there since the end of the loss. */
static int set_running_since_loss(
	struct attar_run *run, struct thread_times *times, const struct attar_event *ev, pid_t tid)
{
	const struct attar_state *state = thread_times_state(times, tid);

	if (!times->seen_from || times->seen_from > ev->time || tid <= 0 ||
		(state && state->state != ATTAR_NO_STATE))
		return 0;
	return set_running(run, times, ev, tid, times->seen_from);
}

/*
 * now is on a CPU. The kernel does not deliver events of some threads, such as the threads of a
 * hypervisor's agent: another one that seems to run there has been switched out unseen.
 */
static void drop_unseen(struct thread_times *times, pid_t before, pid_t now)
{
	struct attar_state *state;

	if (before <= 0 || before == now)
		return;
	state = thread_times_state(times, before);
	if (state && state->state == THREAD_RUNNING)
		state_drop(times->states, state);
}

/* prev is on the CPU of the event. */
static int check_current(struct attar_run *run, struct thread_times *times,
	const struct attar_event *ev, pid_t prev, pid_t next)
{
	int32_t *current = current_of(times, ev->cpu);
	pid_t before;

	if (!current)
		return 0;
	before = *current;
	*current = next;
	if (before < 0)
		return set_running_since_loss(run, times, ev, prev);
	drop_unseen(times, before, prev);
	return 0;
}

/* Of a recording; some kernels of virtual machines report no switches from idle tasks. */
static void check_order(struct thread_times *times, uint32_t cpu, pid_t prev)
{
	const int32_t *current = current_of(times, cpu);

	if (current && *current >= 0) {
		times->in_order += *current == prev;
		times->missing += *current != prev;
	}
	times->has_all_switches =
		!prev || (times->in_order >= IN_ORDER_MIN && times->in_order / 4 > times->missing);
}

static int on_switch(struct attar_run *run, void *self, const struct attar_event *ev)
{
	pid_t prev = (pid_t)attar_arg_i64(ev, PREV_PID), next = (pid_t)attar_arg_i64(ev, NEXT_PID);
	struct thread_times *times = self;
	int r = times->has_recorded ? thread_times_take_recorded(run, times, ev->time) : 0;

	times->events++;
	if (!times->has_all_switches)
		check_order(times, ev->cpu, prev);
	if (r == 0)
		r = check_current(run, times, ev, prev, next);
	if (r == 0 && prev)
		r = switch_out(run, times, ev, prev);
	return r < 0 || !next ? r : set_running(run, times, ev, next, ev->time);
}

/* The thread of the event is on a CPU: the switch to it is missing if it waits for one. */
static int run_if_ready(struct attar_run *run, struct thread_times *times,
	const struct attar_event *ev, uint64_t since)
{
	pid_t tid = (pid_t)ev->record->tid;
	const struct attar_state *state = thread_times_state(times, tid);
	int32_t *current;

	if (!state || state->state != THREAD_READY)
		return 0;
	current = current_of(times, ev->cpu);
	if (current) {
		drop_unseen(times, *current, tid);
		*current = tid;
	}
	times->missing++;
	return set_running(run, times, ev, tid, since);
}

enum { PID, TARGET_CPU };

/* The CPU on whose queue the thread is put. */
static int wakeup_cpu(const struct attar_event *ev)
{
	return attar_arg_exists(ev, TARGET_CPU) ? (int)attar_arg_u64(ev, TARGET_CPU) : (int)ev->cpu;
}

/* The stack stays: it is where the thread was before. */
static int on_wakeup(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_stamp at = {
		.time = ev->time, .task = ATTAR_NO_TASK, .cpu = wakeup_cpu(ev)};
	struct thread_times *times = self;
	uint64_t tid = attar_arg_u64(ev, PID);
	int r = times->has_recorded ? thread_times_take_recorded(run, times, ev->time) : 0;
	const struct attar_state *state = attar_states_get(times->states, &tid, sizeof(tid));
	struct thread_block *block = state ? state->value : NULL;

	times->events++;
	if (r < 0 || (block && block->perf_since))
		return r; /* until it runs */
	if (!state || (state->state != THREAD_RUNNING && state->state != THREAD_READY)) {
		r = thread_times_change(run, times, (pid_t)tid, THREAD_READY, &at, false, &block);
		if (r >= 0)
			r = former_waits_note(run, &times->former, (pid_t)tid, ev->time);
		if (r < 0)
			return r;
	}
	return times->has_all_switches ? 0 : run_if_ready(run, times, ev, ev->time); /* the waker */
}

/* The thread still has the old name, to which the time before belongs. */
static int rename_thread(
	struct attar_run *run, struct thread_times *times, const struct attar_event *ev, pid_t tid)
{
	struct attar_state *state = thread_times_state(times, tid);

	return state ? thread_times_begin_again(run, times, state, ev->time) : 0;
}

enum { NEW_COMM = 1 }; /* of task:task_rename, after PID */

/* The record with the new name follows the event; between them, samples have the old one. */
static void note_former_name(
	struct attar_run *run, struct thread_times *times, const struct attar_event *ev, pid_t tid)
{
	const struct attar_thread *thread = attar_run_thread(run, tid);
	struct attar_state *state = thread_times_state(times, tid);
	const char *comm;
	size_t n;

	if (!thread || !state || !attar_arg_exists(ev, NEW_COMM))
		return;
	comm = attar_arg_text(ev, NEW_COMM, &n);
	if (n && (strlen(thread->comm) != n || memcmp(thread->comm, comm, n) != 0))
		((struct thread_block *)state->value)->former_hash = thread->comm_hash;
}

/* An exec, too. */
static int on_rename(struct attar_run *run, void *self, const struct attar_event *ev)
{
	pid_t tid = (pid_t)attar_arg_i64(ev, PID);
	struct thread_times *times = self;
	int r;

	if (!thread_times_is_held(run, times, tid)) {
		r = rename_thread(run, times, ev, tid);
	} else {
		times->executed = tid;
		r = set_running(run, times, ev, tid, ev->time);
	}
	note_former_name(run, times, ev, tid);
	return r;
}

int thread_times_note_event(
	struct attar_run *run, struct thread_times *times, const struct attar_event *ev)
{
	const struct attar_state *state = thread_times_state(times, (pid_t)ev->record->tid);

	if (!state)
		return 0;
	((struct thread_block *)state->value)->has_events = true;
	return run_if_ready(run, times, ev, ev->time);
}

/* How long the thread has run since the sample before: the period of a clock; 0: unknown. */
static uint64_t period_of(const struct attar_run *run, const struct attar_event *ev)
{
	const struct perf_event_attr *attr = attar_run_source_attr(run, ev->counter);

	return attr && attar_attr_is_clock(attr) ? ev->record->sample.period : 0;
}

/* A thread runs since a part of the period that was not before it was switched out. */
static int note_sample(
	struct attar_run *run, struct thread_times *times, const struct attar_event *ev)
{
	const struct attar_state *state = thread_times_state(times, (pid_t)ev->record->tid);
	uint64_t period = period_of(run, ev), since = ev->time;
	struct thread_block *block;

	if (!state)
		return 0;
	block = state->value;
	if (period > block->ran)
		since -= period - block->ran < since ? period - block->ran : since;
	block->has_events = true;
	block->ran = 0;
	block->sampled = ev->time;
	return run_if_ready(run, times, ev, since > block->since ? since : block->since);
}

int thread_times_runs(
	struct attar_run *run, struct thread_times *times, const struct attar_event *ev)
{
	pid_t tid = (pid_t)ev->record->tid;
	int32_t *current = current_of(times, ev->cpu);
	const struct attar_state *state;
	int r = times->has_recorded ? thread_times_take_recorded(run, times, ev->time) : 0;

	if (r == 0 && !times->has_all_switches)
		r = note_sample(run, times, ev);
	if (r == 0 && current && *current < 0) {
		*current = tid;
		r = set_running_since_loss(run, times, ev, tid);
	}
	state = thread_times_state(times, tid);
	if (r < 0 || tid <= 0 || (state && state->state != ATTAR_NO_STATE))
		return r;
	if (current) {
		drop_unseen(times, *current, tid);
		*current = tid;
	}
	r = set_running(run, times, ev, tid, ev->time);
	return r < 0 || times->has_all_switches ? r : note_sample(run, times, ev);
}

int thread_times_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_stamp at = thread_times_stamp(ev);
	struct thread_times *times = self;
	bool exits = ev->record->type == PERF_RECORD_EXIT;

	if ((times->has_all_switches && exits) || !ev->thread) /* the last switch follows */
		return 0;
	return end_thread(run, times, ev->thread->tid, &at);
}

int thread_times_open_switches(struct attar_run *run, struct thread_times *times)
{
	static struct attar_input inputs[] = {
		{.event = "sched:sched_switch",
			.fields = {"prev_pid", "prev_state", "next_pid"},
			.on_event = on_switch,
			.stacks = true},
		{.event = "sched:sched_wakeup",
			.fields = {"pid", "?target_cpu"},
			.on_event = on_wakeup},
		{.event = "sched:sched_wakeup_new",
			.fields = {"pid", "?target_cpu"},
			.on_event = on_wakeup},
		{0}};
	static const struct attar_input rename = {.event = "task:task_rename",
		.fields = {"pid", "?newcomm"},
		.on_event = on_rename,
		.optional = true};
	uint32_t n;
	int r;

	inputs[0].user_regs = registers_syscall_argument_mask(0) |
			      registers_syscall_argument_mask(1) |
			      registers_syscall_argument_mask(2);
	times->source = attar_run_sources(run);
	r = attar_run_inputs(run, inputs);
	n = attar_run_sources(run);
	if (r == 0)
		r = attar_run_input(run, &rename);
	times->has_renames = attar_run_sources(run) > n;
	return r;
}
