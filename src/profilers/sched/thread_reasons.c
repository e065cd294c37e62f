/* SPDX-License-Identifier: MIT */
/*
 * Why threads wait: from the stack at which they are switched out, and the arguments of their
 * system call.
 */
#include <string.h>

#include "sched/futex.h"
#include "lib/registers.h"
#include "sched/thread_times_internal.h"

bool thread_is_futex_lock(const struct attar_run *run, const struct attar_process *process,
	uint64_t op, uint64_t value)
{
	enum futex_call call = futex_call_of(run, process, op, value);

	return call == FUTEX_CALL_LOCK || call == FUTEX_CALL_LOCK_PI;
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

/* Argument 0, 1 or 2 of the system call in which a thread is switched out; false: unknown. */
static bool get_argument(struct thread_times *times, const struct attar_event *ev,
	const char *syscall, unsigned n, uint64_t *ret_value)
{
	const struct attar_state *state = thread_times_state(times, (pid_t)ev->record->tid);
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
	const attar_location *stack, size_t n, bool *ret_is_mutex)
{
	const struct attar_process *process = ev->thread ? ev->thread->process : NULL;
	uint64_t op, value;

	*ret_is_mutex = false;
	if (frames->waits != FRAME_FUTEX || !frames->syscall ||
		strcmp(frames_syscall(times->frames, frames->syscall), "futex") != 0)
		return true;
	if (get_argument(times, ev, "futex", 1, &op) &&
		get_argument(times, ev, "futex", 2, &value)) {
		*ret_is_mutex = futex_is_mutex(op, value);
		return thread_is_futex_lock(run, process, op, value);
	}
	return attar_run_is_live(run) || is_lock_function(attar_run_symbols(run), stack, n);
}

static bool is_idle(struct thread_times *times, const struct frame_summary *frames,
	const struct attar_event *ev, const attar_location *stack, size_t n)
{
	uint64_t op, value;

	return frames->waits == FRAME_FUTEX && get_argument(times, ev, "futex", 1, &op) &&
	       get_argument(times, ev, "futex", 2, &value) && futex_may_be_idle(op, value) &&
	       frames_are_idle_go(times->frames, stack, n);
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
		if (details->is_idle)
			return THREAD_WORK;
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

enum thread_state thread_times_why(struct attar_run *run, struct thread_times *times,
	const struct attar_event *ev, bool is_uninterruptible, const struct frame_summary *frames,
	const attar_location *stack, size_t n, bool *ret_is_mutex)
{
	struct wait_details details;

	details.is_lock = is_lock(run, times, frames, ev, stack, n, ret_is_mutex);
	details.is_idle = is_idle(times, frames, ev, stack, n);
	details.is_only_a_time = is_only_a_time(times, frames, ev);
	return thread_state_of(frames, is_uninterruptible, &details);
}

/* ---- system calls of recordings ---- */

static int enter(struct attar_run *run, struct thread_times *times, const struct attar_event *ev,
	const char *call, const uint64_t arguments[3])
{
	const struct attar_state *state = thread_times_state(times, (pid_t)ev->record->tid);
	struct thread_block *block = state ? state->value : NULL;

	if (!block)
		return 0;
	block->call = call;
	memcpy(block->arguments, arguments, sizeof(block->arguments));
	return thread_times_seen(run, times, ev);
}

/* Any system call: the stack of a switch has its name. */
static int on_call(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const uint64_t arguments[] = {
		attar_arg_u64_at(ev, 0, 0), attar_arg_u64_at(ev, 0, 1), attar_arg_u64_at(ev, 0, 2)};

	return enter(run, self, ev, "", arguments);
}

#define CALL "syscalls:sys_enter_"

static int on_one_call(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const uint64_t arguments[] = {
		attar_arg_u64(ev, 0), attar_arg_u64(ev, 1), attar_arg_u64(ev, 2)};

	return enter(
		run, self, ev, attar_run_source_name(run, ev->counter) + strlen(CALL), arguments);
}

int thread_times_open_calls(struct attar_run *run)
{
#define ONE(name, first, second, third)                                                            \
	{                                                                                          \
		.event = CALL name, .fields = {first, second, third}, .on_event = on_one_call,     \
		.optional = true                                                                   \
	}
	static const struct attar_input calls[] = {{.event = "raw_syscalls:sys_enter",
							   .fields = {"args"},
							   .on_event = on_call,
							   .optional = true},
		ONE("futex", "?uaddr", "?op", "?val"),
		ONE("poll", "?ufds", "?nfds", "?timeout_msecs"),
		ONE("ppoll", "?ufds", "?nfds", "?tsp"), ONE("select", "?n", "?inp", "?outp"),
		ONE("pselect6", "?n", "?inp", "?outp"), {0}};

	return attar_run_is_live(run) ? 0 : attar_run_inputs(run, calls);
}
