/* SPDX-License-Identifier: MIT */
#include "thread_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_names.h"
#include "registers.h"

enum { GROUPS_MAX = 16384, CPUS_MAX = 8192, IN_ORDER_MIN = 100 };

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

static struct attar_stamp stamp(const struct attar_event *ev)
{
	return (struct attar_stamp){.time = ev->time, .task = ATTAR_NO_TASK, .cpu = (int)ev->cpu};
}

/* ---- time ---- */

static struct attar_state *state_of(struct thread_times *times, pid_t tid)
{
	uint64_t key = (uint64_t)tid;

	return attar_states_get(times->states, &key, sizeof(key));
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
	group->is_kernel_thread = is_kernel_thread;
	strncpy(group->comm, thread->comm, THREAD_COMM_BYTES - 1);
	attar_state_set_group(times->states, state, group, sizeof(*group));
}

/* A segment that ends has the name that the thread has now, as for segment(). */
static struct attar_state *set_state(struct thread_times *times, const struct attar_thread *thread,
	uint32_t to, const struct attar_stamp *at, bool is_kernel_thread)
{
	struct attar_state *state = state_of(times, thread->tid);

	if (state) {
		set_group(times, state, thread, is_kernel_thread);
		return attar_state_change(times->states, state, to, at) < 0 ? NULL : state;
	}
	state = attar_states_set_u64(times->states, (uint64_t)thread->tid, to, at);
	if (state)
		set_group(times, state, thread, is_kernel_thread);
	return state;
}

/* NULL: it is not selected. */
static const struct attar_thread *selected(const struct attar_run *run, pid_t tid)
{
	const struct attar_thread *thread = attar_run_thread(run, tid);

	return thread && attar_run_is_selected(run, thread) ? thread : NULL;
}

/*
 * Changes the state of a selected thread; with --cpus, to an unknown one if it is on another CPU,
 * at->cpu. Returns 1 and its block; 0: it is not selected.
 */
static int change(struct attar_run *run, struct thread_times *times, pid_t tid, uint32_t to,
	const struct attar_stamp *at, bool is_kernel_thread, struct thread_block **ret_block)
{
	const struct attar_thread *thread = selected(run, tid);
	struct thread_segment segment = {.thread = thread, .to = at->time, .is_end = true};
	struct attar_state *state;
	struct thread_block *block;
	int r = 0;

	if (!thread)
		return 0;
	if (!attar_run_is_cpu_selected(run, at->cpu))
		to = ATTAR_NO_STATE;
	state = set_state(times, thread, to, at, is_kernel_thread);
	if (!state)
		return -ENOMEM;
	block = state->value;
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

/* Gives the time of the present state up to `until`; the rest follows. */
static int divide(struct attar_run *run, struct thread_times *times, struct attar_state *state,
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

/* ---- why a thread was switched out ---- */

bool thread_is_futex_lock(uint64_t op)
{
	enum { COMMAND = 127, WAIT = 0, LOCK_PI = 6, LOCK_PI2 = 13 };

	op &= COMMAND;
	return op == WAIT || op == LOCK_PI || op == LOCK_PI2;
}

/* Recordings may have no registers: the function that waits in the library has a name. */
static bool is_lock_function(struct attar_symbols *symbols, const attar_location *stack, size_t n)
{
	struct attar_symbol symbol;
	size_t i = 0;

	while (i < n && attar_location_dso(stack[i]) == ATTAR_DSO_KERNEL)
		i++;
	if (i == n || attar_symbols_resolve(symbols, stack[i], &symbol) < 0)
		return true;
	return strstr(symbol.name, "lock") && !strstr(symbol.name, "clock");
}

/* Argument 0 or 1 of the system call in which a thread is switched out; false: unknown. */
static bool get_argument(struct thread_times *times, const struct attar_event *ev,
	const char *syscall, unsigned n, uint64_t *ret_value)
{
	const struct attar_state *state = state_of(times, (pid_t)ev->record->tid);
	const struct thread_block *block = state ? state->value : NULL;

	if (registers_syscall_argument(&ev->record->sample.regs_user, n, ret_value))
		return true;
	if (!block || !block->call || (*block->call && strcmp(block->call, syscall) != 0))
		return false;
	*ret_value = block->arguments[n];
	return true;
}

/* Other system calls that use futexes only wait for locks. */
static bool is_lock(struct attar_run *run, struct thread_times *times,
	const struct frame_summary *frames, const struct attar_event *ev,
	const attar_location *stack, size_t n)
{
	uint64_t op;

	if (frames->waits != FRAME_FUTEX || !frames->syscall ||
		strcmp(frames_syscall(times->frames, frames->syscall), "futex") != 0)
		return true;
	if (get_argument(times, ev, "futex", 1, &op))
		return thread_is_futex_lock(op);
	return attar_run_is_live(run) || is_lock_function(attar_run_symbols(run), stack, n);
}

/* The argument of a system call that is the number of file descriptors; -1: it has none. */
static int n_descriptors_argument(const char *syscall)
{
	static const struct {
		const char *syscall;
		int argument;
	} calls[] = {{"poll", 1}, {"ppoll", 1}, {"select", 0}, {"pselect6", 0}};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(syscall, calls[i].syscall))
			return calls[i].argument;
	return -1;
}

/* poll(2) and select(2) without file descriptors are sleeps. */
static bool is_only_a_time(struct thread_times *times, const struct frame_summary *frames,
	const struct attar_event *ev)
{
	uint64_t n;
	const char *syscall;
	int argument;

	/* 32-bit programs have the arguments in other registers */
	if (frames->waits != FRAME_WORK || !frames->syscall ||
		ev->record->sample.regs_user.abi == PERF_SAMPLE_REGS_ABI_32)
		return false;
	syscall = frames_syscall(times->frames, frames->syscall);
	argument = n_descriptors_argument(syscall);
	return argument >= 0 && get_argument(times, ev, syscall, (unsigned)argument, &n) &&
	       !(uint32_t)n;
}

enum thread_state thread_state_of(const struct frame_summary *frames, bool is_uninterruptible,
	const struct wait_details *details)
{
	switch (frames->waits) {
	case FRAME_DISK:
		return THREAD_DISK;
	case FRAME_LOCK:
		return THREAD_LOCK;
	case FRAME_FUTEX:
		return details->is_lock ? THREAD_LOCK : THREAD_CONDITION;
	case FRAME_SLEEP:
		return THREAD_SLEEP;
	case FRAME_PEER:
		return THREAD_PEER;
	case FRAME_WORK:
		return details->is_only_a_time ? THREAD_SLEEP : THREAD_WORK;
	default:
		break;
	}
	if (frames->is_kernel_thread)
		return THREAD_WORK;
	return is_uninterruptible && !frames->has_names ? THREAD_DISK : THREAD_BLOCKED;
}

/* ---- events ---- */

enum { PREV_PID, PREV_STATE, NEXT_PID };

/* Dead or zombie: the last switch of a thread. */
static bool has_exited(uint64_t prev_state)
{
	return !(prev_state & 0x0f) && prev_state & 0x30;
}

/* Not the idle state of kernel threads. */
static bool is_uninterruptible(uint64_t prev_state)
{
	return (prev_state & 0x402) == 0x02;
}

static int end_thread(
	struct attar_run *run, struct thread_times *times, pid_t tid, const struct attar_stamp *at)
{
	uint64_t key = (uint64_t)tid;
	struct thread_block *block;
	int r = change(run, times, tid, ATTAR_NO_STATE, at, false, &block);

	attar_states_exit(times->states, &key, sizeof(key), at);
	return r < 0 ? r : 0;
}

/* Of a thread that is switched out. */
static enum thread_state why(struct attar_run *run, struct thread_times *times,
	const struct attar_event *ev, const struct frame_summary *frames,
	const attar_location *stack, size_t n)
{
	uint64_t prev_state = attar_arg_u64(ev, PREV_STATE);
	struct wait_details details;

	if (!(prev_state & 0xff))
		return THREAD_READY;
	details.is_lock = is_lock(run, times, frames, ev, stack, n);
	details.is_only_a_time = is_only_a_time(times, frames, ev);
	return thread_state_of(frames, is_uninterruptible(prev_state), &details);
}

/* For note_sample(). */
static void note_run(struct thread_times *times, pid_t tid, uint64_t until)
{
	const struct attar_state *state = state_of(times, tid);
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
	const struct attar_stamp at = stamp(ev);
	attar_location stack[THREAD_DEPTH_MAX];
	struct frame_summary frames;
	struct thread_block *block;
	size_t n;
	int r;

	if (has_exited(attar_arg_u64(ev, PREV_STATE)))
		return end_thread(run, times, tid, &at);
	if (!selected(run, tid))
		return 0;
	if (!times->has_all_switches)
		note_run(times, tid, ev->time);
	n = attar_event_stack(ev, stack, THREAD_DEPTH_MAX);
	frames_read(times->frames, stack, n, &frames);
	r = change(run, times, tid, why(run, times, ev, &frames, stack, n), &at,
		frames.is_kernel_thread, &block);
	if (r <= 0)
		return r;
	block->depth = (uint16_t)n;
	block->syscall = frames.syscall;
	block->has_events = true;
	memcpy(block->stack, stack, n * sizeof(*stack));
	times->switches++;
	return 0;
}

/* tid, if it is selected, runs since then on the CPU of the event. */
static int set_running(struct attar_run *run, struct thread_times *times,
	const struct attar_event *ev, pid_t tid, uint64_t since)
{
	struct attar_stamp at = stamp(ev);
	int32_t cpu = (int32_t)ev->cpu + 1;
	struct thread_block *block;
	int r;

	at.time = since;
	r = change(run, times, tid, THREAD_RUNNING, &at, false, &block);
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
	const struct attar_state *state = state_of(times, tid);

	if (!times->seen_from || times->seen_from > ev->time || tid <= 0 ||
		(state && state->state != ATTAR_NO_STATE))
		return 0;
	return set_running(run, times, ev, tid, times->seen_from);
}

/*
 * now is on a CPU. The kernel does not deliver events of some threads, as those of a hypervisor's
 * agent: another one that seems to run there has been switched out unseen.
 */
static void drop_unseen(struct thread_times *times, pid_t before, pid_t now)
{
	struct attar_state *state;

	if (before <= 0 || before == now)
		return;
	state = state_of(times, before);
	if (state && state->state == THREAD_RUNNING)
		attar_state_drop(times->states, state);
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
	int r;

	if (!times->has_all_switches)
		check_order(times, ev->cpu, prev);
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
	const struct attar_state *state = state_of(times, tid);
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
	const struct attar_state *state = attar_states_get(times->states, &tid, sizeof(tid));
	struct thread_block *block;
	int r;

	if (!state || (state->state != THREAD_RUNNING && state->state != THREAD_READY)) {
		r = change(run, times, (pid_t)tid, THREAD_READY, &at, false, &block);
		if (r < 0)
			return r;
	}
	return times->has_all_switches ? 0 : run_if_ready(run, times, ev, ev->time); /* the waker */
}

/* An exec, too. The thread still has the old name, to which the time before belongs. */
static int on_rename(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct thread_times *times = self;
	struct attar_state *state = state_of(times, (pid_t)attar_arg_i64(ev, PID));
	struct attar_stamp at = {.time = ev->time};
	uint32_t now;
	int r;

	if (!state || state->state == ATTAR_NO_STATE)
		return 0;
	now = state->state;
	at.task = state->task;
	at.cpu = state->cpu;
	r = divide(run, times, state, ev->time);
	if (r == 0)
		r = attar_state_change(times->states, state, ATTAR_NO_STATE, &at);
	return r == 0 ? attar_state_change(times->states, state, now, &at) : r;
}

int thread_times_note_event(
	struct attar_run *run, struct thread_times *times, const struct attar_event *ev)
{
	const struct attar_state *state = state_of(times, (pid_t)ev->record->tid);

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
	const struct attar_state *state = state_of(times, (pid_t)ev->record->tid);
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
	int r = times->has_all_switches ? 0 : note_sample(run, times, ev);

	if (r == 0 && current && *current < 0) {
		*current = tid;
		r = set_running_since_loss(run, times, ev, tid);
	}
	state = state_of(times, tid);
	if (r < 0 || tid <= 0 || (state && state->state != ATTAR_NO_STATE))
		return r;
	if (current) {
		drop_unseen(times, *current, tid);
		*current = tid;
	}
	r = set_running(run, times, ev, tid, ev->time);
	return r < 0 || times->has_all_switches ? r : note_sample(run, times, ev);
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

int thread_times_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct thread_times *times = self;

	(void)run;
	thread_times_forget(times, ev->lost_from, ev->lost_to);
	return 0;
}

int thread_times_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_stamp at = stamp(ev);
	struct thread_times *times = self;

	if (times->has_all_switches || !ev->thread) /* the last switch follows */
		return 0;
	return end_thread(run, times, ev->thread->tid, &at);
}

/*
 * A recording of single tasks has wakeups of other tasks and switches to them, but not what follows
 * in these.
 */
static bool is_of_others(const struct thread_times *times, const struct attar_state *state)
{
	return !times->has_all_switches && !((const struct thread_block *)state->value)->has_events;
}

int thread_times_divide(struct attar_run *run, struct thread_times *times, uint64_t until)
{
	struct attar_state *state = NULL;
	int r = 0;

	while (r == 0 && (state = attar_states_next(times->states, state)))
		if (is_of_others(times, state))
			attar_state_drop(times->states, state);
		else
			r = divide(run, times, state, until);
	return r == 0 ? attar_states_close(times->states, until) : r;
}

int thread_times_found(struct attar_run *run, struct thread_times *times,
	const struct thread_found *found, const struct attar_stamp *at)
{
	struct thread_block *block;
	int r = change(run, times, found->tid, found->state, at, found->is_kernel_thread, &block);

	if (r <= 0)
		return r;
	block->depth = (uint16_t)found->depth;
	block->syscall = 0;
	memcpy(block->stack, found->stack, found->depth * sizeof(*block->stack));
	return 0;
}

bool thread_times_has_stacks(const struct attar_run *run, uint32_t source)
{
	const struct perf_event_attr *attr = attar_run_source_attr(run, source);

	return attr && attr->sample_type & PERF_SAMPLE_CALLCHAIN;
}

void thread_times_remark(
	const struct attar_run *run, const struct thread_times *times, struct attar_report *report)
{
	if (!attar_run_is_live(run) && !thread_times_has_stacks(run, times->source))
		attar_report_remark(report,
			"the recording has no stacks of context switches: the reasons for waits "
			"are unknown; record with -g");
}

/* ---- system calls of recordings ---- */

static int enter(struct attar_run *run, struct thread_times *times, const struct attar_event *ev,
	const char *call, uint64_t first, uint64_t second)
{
	const struct attar_state *state = state_of(times, (pid_t)ev->record->tid);
	struct thread_block *block = state ? state->value : NULL;

	if (!block)
		return 0;
	block->call = call;
	block->arguments[0] = first;
	block->arguments[1] = second;
	return thread_times_seen(run, times, ev);
}

/* Any system call: the stack of a switch has its name. */
static int on_call(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return enter(run, self, ev, "", attar_arg_u64_at(ev, 0, 0), attar_arg_u64_at(ev, 0, 1));
}

#define CALL "syscalls:sys_enter_"

static int on_one_call(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return enter(run, self, ev, attar_run_source_name(run, ev->counter) + strlen(CALL),
		attar_arg_u64(ev, 0), attar_arg_u64(ev, 1));
}

/* Their samples of switches have no registers, which have the arguments of system calls. */
static int open_calls(struct attar_run *run)
{
#define ONE(name, first, second)                                                                   \
	{                                                                                          \
		.event = CALL name, .fields = {first, second}, .on_event = on_one_call,            \
		.optional = true                                                                   \
	}
	static const struct attar_input calls[] = {{.event = "raw_syscalls:sys_enter",
							   .fields = {"args"},
							   .on_event = on_call,
							   .optional = true},
		ONE("futex", "?uaddr", "?op"), ONE("poll", "?ufds", "?nfds"),
		ONE("ppoll", "?ufds", "?nfds"), ONE("select", "?n", "?inp"),
		ONE("pselect6", "?n", "?inp"), {0}};

	return attar_run_is_live(run) ? 0 : attar_run_inputs(run, calls);
}

/* ---- life ---- */

int thread_times_open(struct attar_run *run, struct thread_times *times)
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
		{.event = "task:task_rename",
			.fields = {"pid"},
			.on_event = on_rename,
			.optional = true},
		{0}};
	const struct attar_states_opts opts = {.size = sizeof(opts),
		.states = THREAD_STATES,
		.value_size = times->block_size ?: sizeof(struct thread_block),
		.group_max = sizeof(struct thread_group),
		.groups_max = GROUPS_MAX};
	int r = attar_run_select_tasks(run);

	inputs[0].user_regs =
		registers_syscall_argument_mask(0) | registers_syscall_argument_mask(1);
	if (r == 0)
		r = attar_run_keep_own(run);
	attar_run_all_cpus(run, true);
	times->source = attar_run_sources(run);
	if (r == 0)
		r = attar_run_inputs(run, inputs);
	if (r == 0)
		r = open_calls(run);
	attar_run_all_cpus(run, false);
	if (r < 0)
		return r;
	times->has_all_switches = attar_run_is_live(run);
	kernel_names_read(run);
	times->frames = frames_new(attar_run_symbols(run));
	return times->frames ? attar_states_new(&opts, &times->states) : -ENOMEM;
}

void thread_times_close(struct thread_times *times)
{
	attar_states_free(times->states);
	frames_free(times->frames);
	free(times->current);
}
