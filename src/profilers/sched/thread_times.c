/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attar/private/states.h"
#include "lib/kernel_names.h"
#include "sched/thread_times_internal.h"

enum { GROUPS_MAX = 16384 };

const char *const thread_state_names[THREAD_STATES] = {
	[THREAD_RUNNING] = "running",
	[THREAD_READY] = "ready",
	[THREAD_DISK] = "disk",
	[THREAD_LOCK] = "lock",
	[THREAD_SLEEP] = "sleep",
	[THREAD_PEER] = "peer",
	[THREAD_BLOCKED] = "blocked",
	[THREAD_CONDITION] = "condition",
	[THREAD_WORK] = "work",
};

const char *const thread_state_labels[THREAD_STATES] = {
	[THREAD_RUNNING] = "[running]",
	[THREAD_READY] = "[waiting for a CPU]",
	[THREAD_DISK] = "[disk]",
	[THREAD_LOCK] = "[lock]",
	[THREAD_SLEEP] = "[sleeping]",
	[THREAD_PEER] = "[waiting for another program]",
	[THREAD_BLOCKED] = "[blocked]",
	[THREAD_CONDITION] = "[waiting for a condition]",
	[THREAD_WORK] = "[waiting for work]",
};

/* ---- time ---- */

struct attar_state *thread_times_state(struct thread_times *times, pid_t tid)
{
	uint64_t key = (uint64_t)tid;

	return attar_states_get(times->states, &key, sizeof(key));
}

/* The event of the exec may be lost, or not delivered: another name shows it, too. */
bool thread_times_is_held(const struct attar_run *run, struct thread_times *times, pid_t tid)
{
	const struct attar_thread *thread;

	if (!times->has_renames || tid == times->executed || times->seen_from ||
		tid != attar_run_command_pid(run))
		return false;
	thread = attar_run_thread(run, tid);
	if (!thread)
		return true;
	if (!times->held_hash)
		times->held_hash = thread->comm_hash;
	if (thread->comm_hash != times->held_hash)
		times->executed = tid;
	return tid != times->executed;
}

static int give(struct attar_run *run, struct thread_times *times, struct thread_segment *segment)
{
	if (!times->segment || !segment->thread || segment->to <= segment->from)
		return 0;
	return times->segment(run, times, segment);
}

static void set_group(struct thread_times *times, struct attar_state *state,
	const struct attar_thread *thread, bool is_kernel_thread)
{
	struct thread_block *block = state->value;
	struct thread_group *group = &block->group;

	if (group->tid == thread->tid && block->comm_hash == thread->comm_hash &&
		is_kernel_thread <= group->is_kernel_thread)
		return;
	is_kernel_thread |= group->is_kernel_thread && group->tid == thread->tid;
	block->comm_hash = thread->comm_hash;
	memset(group, 0, sizeof(*group));
	group->tid = thread->tid;
	group->pid = thread->process ? thread->process->pid : 0;
	group->started = thread->process ? thread->process->started : 0;
	group->is_kernel_thread = is_kernel_thread;
	strncpy(group->comm, thread->comm, THREAD_COMM_BYTES - 1);
	attar_state_set_group(times->states, state, group, sizeof(*group));
}

/* A segment that ends has the name that the thread has now, as for segment(). */
static struct attar_state *set_state(struct thread_times *times, const struct attar_thread *thread,
	uint32_t to, const struct attar_stamp *at, bool is_kernel_thread)
{
	struct attar_state *state = thread_times_state(times, thread->tid);

	if (state) {
		set_group(times, state, thread, is_kernel_thread);
		return state_change(times->states, state, to, at) < 0 ? NULL : state;
	}
	state = attar_states_set_u64(times->states, (uint64_t)thread->tid, to, at);
	if (state)
		set_group(times, state, thread, is_kernel_thread);
	return state;
}

const struct attar_thread *thread_times_selected(const struct attar_run *run, pid_t tid)
{
	const struct attar_thread *thread = attar_run_thread(run, tid);

	return thread && attar_run_is_selected(run, thread) ? thread : NULL;
}

/* What happened to the thread before the end of a loss is unknown. */
static void end_perf_wait(struct thread_times *times, struct thread_block *block, uint64_t time)
{
	if (block->perf_since && block->perf_since >= times->seen_from && time > block->perf_since)
		left_out_add(&times->perf, time - block->perf_since);
	block->perf_since = 0;
}

int thread_times_change(struct attar_run *run, struct thread_times *times, pid_t tid, uint32_t to,
	const struct attar_stamp *at, bool is_kernel_thread, struct thread_block **ret_block)
{
	const struct attar_thread *thread = thread_times_selected(run, tid);
	struct thread_segment segment = {.thread = thread, .to = at->time, .is_end = true};
	struct attar_state *state;
	struct thread_block *block;
	int r = 0;

	if (!thread || thread_times_is_held(run, times, tid))
		return 0;
	if (!attar_run_is_cpu_selected(run, at->cpu))
		to = ATTAR_NO_STATE;
	state = set_state(times, thread, to, at, is_kernel_thread);
	if (!state)
		return -ENOMEM;
	block = state->value;
	block->former_hash = 0;
	end_perf_wait(times, block, at->time);
	if (state->ended != ATTAR_NO_STATE) {
		segment.block = block;
		segment.since = block->since;
		segment.state = state->ended;
		segment.from = at->time - state->duration;
		if (block->divided > segment.from)
			segment.from = block->divided;
		r = give(run, times, &segment);
	}
	if (state->since == at->time) /* otherwise it was in the same state before */
		block->since = block->divided = at->time;
	*ret_block = block;
	return r < 0 ? r : 1;
}

int thread_times_give(struct attar_run *run, struct thread_times *times, struct attar_state *state,
	uint64_t until)
{
	struct thread_block *block = state->value;
	struct thread_segment segment = {.block = block,
		.state = state->state,
		.since = block->since,
		.from = block->divided,
		.to = until};
	int r;

	if (state->state == ATTAR_NO_STATE || until <= block->divided)
		return 0;
	segment.thread = attar_run_thread(run, block->group.tid);
	if (segment.thread)
		set_group(times, state, segment.thread, false);
	r = give(run, times, &segment);
	block->divided = until;
	return r;
}

int thread_times_sample(
	struct attar_run *run, struct thread_times *times, const struct attar_event *ev)
{
	uint64_t tid = ev->record->tid;
	const struct attar_state *state = attar_states_get(times->states, &tid, sizeof(tid));
	struct thread_block *block = state ? state->value : NULL;
	struct thread_segment segment = {.to = ev->time};
	int r;

	if (!block || state->state != THREAD_RUNNING || ev->time < block->divided)
		return 0;
	block->depth = (uint16_t)attar_event_stack(ev, block->stack, THREAD_DEPTH_MAX);
	segment.thread = attar_run_thread(run, (pid_t)tid);
	if (segment.thread && segment.thread->comm_hash == block->former_hash)
		return 0; /* the time since the event of the change belongs to the new name */
	segment.block = block;
	segment.since = block->since;
	segment.from = block->divided;
	r = give(run, times, &segment);
	block->divided = ev->time;
	return r;
}

void thread_times_forget(struct thread_times *times, uint64_t from, uint64_t to)
{
	attar_states_lost(times->states, -1, from, to);
	times->lost_to = to;
	times->seen_from = to + 1;
	for (size_t i = 0; i < times->n_current; i++)
		times->current[i] = -1;
}

int thread_times_keep(struct thread_times *times, pid_t tid, uint32_t to, uint64_t time)
{
	struct attar_state *state = thread_times_state(times, tid);
	const struct attar_stamp at = {time, ATTAR_NO_TASK, state ? state->cpu : -1};

	if (!state)
		return 0;
	((struct thread_block *)state->value)->divided = time;
	return state_change(times->states, state, to, &at);
}

int thread_times_began(struct attar_run *run, struct thread_times *times, pid_t tid, uint64_t time)
{
	const struct attar_thread *thread = thread_times_selected(run, tid);
	const struct attar_stamp at = {time, ATTAR_NO_TASK, -1};

	if (!thread || thread_times_is_held(run, times, tid))
		return 0;
	if (time < times->seen_from)
		times->lost_to = times->seen_from - 1;
	return set_state(times, thread, ATTAR_NO_STATE, &at, false) ? 0 : -ENOMEM;
}

int thread_times_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct thread_times *times = self;

	(void)run;
	thread_times_forget(times, ev->lost_from, ev->lost_to);
	return 0;
}

/*
 * A recording of single tasks has wakeups of other tasks and switches to them, but not what follows
 * in these.
 */
static bool is_of_others(const struct attar_state *state)
{
	return !((const struct thread_block *)state->value)->has_events;
}

int thread_times_begin_again(
	struct attar_run *run, struct thread_times *times, struct attar_state *state, uint64_t time)
{
	const struct attar_stamp at = {time, state->task, state->cpu};
	uint32_t now = state->state;
	int r = thread_times_give(run, times, state, time);

	if (r < 0 || now == ATTAR_NO_STATE)
		return r;
	r = state_change(times->states, state, ATTAR_NO_STATE, &at);
	return r == 0 ? state_change(times->states, state, now, &at) : r;
}

int thread_times_divide(struct attar_run *run, struct thread_times *times, uint64_t until)
{
	struct attar_state *state = attar_states_next(times->states, NULL), *next;
	struct attar_states_stats stats;
	int r = 0;

	times->others = 0;
	if (times->has_all_switches) {
		for (; r == 0 && state; state = attar_states_next(times->states, state))
			r = thread_times_give(run, times, state, until);
		return r == 0 ? attar_states_close(times->states, until) : r;
	}
	attar_states_get_stats(times->states, &stats);
	for (; r == 0 && stats.keys--;
		state = next) { /* thread_times_begin_again() makes it the last one */
		next = attar_states_next(times->states, state);
		if (!is_of_others(state))
			r = thread_times_begin_again(run, times, state, until);
		else /* a later switch may show that all are there */
			times->others += state->state != ATTAR_NO_STATE;
	}
	return r;
}

int thread_times_found(struct attar_run *run, struct thread_times *times,
	const struct thread_found *found, const struct attar_stamp *at)
{
	struct thread_block *block;
	int r = thread_times_change(
		run, times, found->tid, found->state, at, found->is_kernel_thread, &block);

	if (r <= 0)
		return r;
	block->depth = (uint16_t)found->depth;
	block->syscall = found->syscall;
	block->is_mutex = found->is_mutex;
	block->is_stopped = found->is_stopped;
	memcpy(block->stack, found->stack, found->depth * sizeof(*block->stack));
	return 0;
}

uint64_t thread_times_waits_since(
	const struct attar_run *run, const struct thread_times *times, pid_t tid)
{
	const uint64_t key = (uint64_t)tid;
	const struct attar_state *state = attar_states_get(times->states, &key, sizeof(key));
	const struct thread_block *block = state ? state->value : NULL;

	if (!block || state->state == ATTAR_NO_STATE || state->state == THREAD_RUNNING ||
		state->state == THREAD_READY)
		return block ? attar_run_until(run) : 0;
	return block->since > attar_run_began(run) ? block->since : 0;
}

bool thread_times_has_stacks(const struct attar_run *run, uint32_t source)
{
	const struct perf_event_attr *attr = attar_run_source_attr(run, source);

	return attr && attr->sample_type & PERF_SAMPLE_CALLCHAIN;
}

void thread_times_remark(const struct attar_run *run, struct thread_times *times,
	struct attar_report *report, enum attar_scope scope)
{
	left_out_remark_perf(&times->perf, report, scope);
	if (times->others)
		attar_report_remark(report,
			"%llu thread%s left out: the recording has wakeups of %s or switches to "
			"%s, "
			"but no events of %s own so far; record all tasks with -a",
			(unsigned long long)times->others, times->others == 1 ? " is" : "s are",
			times->others == 1 ? "it" : "them", times->others == 1 ? "it" : "them",
			times->others == 1 ? "its" : "their");
	if (!attar_run_is_live(run) && !thread_times_has_stacks(run, times->source))
		attar_report_remark(report,
			"the recording has no stacks of context switches: the reasons for waits "
			"are unknown; record with -g");
}

/* ---- life ---- */

int thread_times_open(struct attar_run *run, struct thread_times *times)
{
	const struct attar_states_opts opts = {.size = sizeof(opts),
		.states = THREAD_STATES,
		.value_size = times->block_size ?: sizeof(struct thread_block),
		.group_max = sizeof(struct thread_group),
		.groups_max = GROUPS_MAX};
	int r = attar_run_select_tasks(run);

	if (r == 0)
		r = attar_run_keep_own(run);
	attar_run_all_cpus(run, true);
	if (r == 0)
		r = thread_times_open_switches(run, times);
	if (r == 0)
		r = thread_times_open_calls(run);
	attar_run_all_cpus(run, false);
	if (r < 0)
		return r;
	times->has_all_switches = attar_run_is_live(run);
	times->has_recorded = !attar_run_is_live(run);
	kernel_names_read(run);
	times->frames = frames_new(attar_run_symbols(run));
	return times->frames ? attar_states_new(&opts, &times->states) : -ENOMEM;
}

void thread_times_close(struct thread_times *times)
{
	attar_states_free(times->states);
	frames_free(times->frames);
	free(times->current);
	former_waits_done(&times->former);
}
