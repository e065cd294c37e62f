/* SPDX-License-Identifier: MIT */
/* Counts each process that exits once, and those that fail. */
#include <errno.h>
#include <signal.h>

#include "overview/overview.h"

/*
 * A thread that has not exited leaves its control group, or executes a set-user-ID program: see
 * has_exec_ended_events() in stream/procs.c.
 */
int overview_add_exit(struct attar_run *run, struct overview *o, const struct attar_event *ev)
{
	const struct attar_thread *thread = ev->thread;
	const struct attar_stamp at = attar_event_get_stamp(ev);
	struct attar_start *exit;

	if (!thread || !thread->exited || thread->tid != thread->process->pid ||
		thread->process->unwatched || !attar_run_is_selected(run, thread) ||
		overview_is_own(o, run, thread))
		return 0;
	exit = attar_pairs_start_u64(o->exited, (uint64_t)thread->tid, &at);
	if (!exit)
		return 0;
	*(uint64_t *)exit->payload = o->reports;
	return overview_count(o, COUNT_EXITS, 1);
}

/*
 * If another thread executes a program, the kernel ends the main thread, and the other one takes
 * its tid: the process has not exited. A report that says so is not corrected by the next one.
 */
static int take_exit_back(struct overview *o, const struct attar_event *ev)
{
	const uint64_t pid = ev->record->comm.pid;
	struct attar_stamp at = attar_event_get_stamp(ev);
	const struct attar_start *exit = attar_pairs_end_u64(o->exited, pid, &at);
	struct attar_start *again;
	uint64_t report;

	if (!exit)
		return 0;
	report = *(const uint64_t *)exit->payload;
	if (report == o->reports)
		return overview_count(o, COUNT_EXITS, (uint64_t)-1);
	again = attar_pairs_start_u64(o->exited, pid, &at);
	if (again)
		*(uint64_t *)again->payload = report;
	return 0;
}

int overview_on_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_record *record = ev->record;
	struct overview *o = self;
	uint64_t pid;
	int r = 0;

	if (run_is_before_range(run))
		return 0;
	if (record->type == PERF_RECORD_COMM && record->comm.exec) {
		r = take_exit_back(o, ev);
		return r == 0 && ev->thread && attar_run_is_selected(run, ev->thread)
			       ? overview_add_exec(o, ev->thread->comm)
			       : r;
	}
	if (record->type == PERF_RECORD_FORK && ev->thread &&
		attar_run_is_selected(run, ev->thread) && !overview_is_own(o, run, ev->thread))
		r = overview_slices_began(run, o, (pid_t)record->task.tid, ev->time);
	if (r == 0 && record->type == PERF_RECORD_FORK && record->task.pid != record->task.ppid &&
		ev->thread && attar_run_is_selected(run, ev->thread) &&
		!overview_is_own(o, run, ev->thread))
		r = overview_add_start(run, o, (pid_t)record->task.ppid);
	if (r < 0 || record->type != PERF_RECORD_FORK || record->task.pid == record->task.ppid)
		return r;
	pid = record->task.pid; /* of a new process */
	attar_pairs_drop(o->exited, &pid, sizeof(pid));
	return 0;
}

/* ---- processes that fail ---- */

/* A process as a key: its number may be used again. */
struct process_key {
	int64_t pid;
	uint64_t started;
};

/* The first cause counts: several threads can end their process at the same time. */
static int add_failure(struct attar_run *run, struct overview *o, const struct attar_event *ev,
	const struct overview_end *end)
{
	const struct attar_process *process = ev->thread ? ev->thread->process : NULL;
	const struct attar_stamp at = attar_event_get_stamp(ev);
	struct process_key key = {0};
	struct attar_keyrow *row;

	if (!process || !attar_run_is_selected(run, ev->thread) ||
		overview_is_own(o, run, ev->thread))
		return 0;
	key.pid = process->pid;
	key.started = process->started;
	if (!attar_pairs_start(o->failed, &key, sizeof(key), &at))
		return 0;
	row = attar_keytable_at(o->ends, end, sizeof(*end));
	if (!row)
		return -ENOMEM;
	row->interval.sums[0]++;
	return 0;
}

enum { STATUS };

static int on_exit_group(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct overview_end end = {.status = (int32_t)(attar_arg_u64(ev, STATUS) & 0xff)};

	return end.status ? add_failure(run, self, ev, &end) : 0;
}

/*
 * Signals of errors of the program. Of others, such as SIGTERM, the kernel delivers SIGKILL to each
 * thread, as it does at an exec and at exit_group(2).
 */
static bool is_crash(int32_t sig)
{
	return sig == SIGSEGV || sig == SIGABRT || sig == SIGBUS || sig == SIGFPE ||
	       sig == SIGILL || sig == SIGSYS || sig == SIGTRAP;
}

enum { SIGNAL, HANDLER };

static int on_signal(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct overview_end end = {
		.status = (int32_t)attar_arg_i64(ev, SIGNAL), .is_signal = 1};

	if (attar_arg_u64(ev, HANDLER) || !is_crash(end.status))
		return 0;
	return add_failure(run, self, ev, &end);
}

/* Few events, which are never paused. exit_group(2) does not return, so it has no sys_exit. */
static const struct attar_input failing_exits = {
	.event = "syscalls:sys_enter_exit_group/error_code&255/",
	.fields = {"error_code"},
	.on_event = on_exit_group,
	.optional = true};

static const struct attar_input crashes = {
	.event = "signal:signal_deliver/sa_handler==0 && sig!=9/",
	.fields = {"sig", "sa_handler"},
	.on_event = on_signal,
	.optional = true};

/* The event of exit_group(2) makes all system calls a little slower. */
int overview_open_ends(struct attar_run *run, struct overview *o)
{
	const struct attar_pairs_opts failed = {.size = sizeof(failed),
		.policy = ATTAR_PAIRS_FIRST,
		.key_max = sizeof(struct process_key),
		.open_max = 1024};
	uint32_t n = attar_run_sources(run);
	int r = attar_run_input(run, &failing_exits);

	o->has_ends = attar_run_sources(run) > n;
	if (r == 0 && o->has_ends)
		r = attar_run_input(run, &crashes);
	return r == 0 ? attar_pairs_new(&failed, &o->failed) : r;
}
