/* SPDX-License-Identifier: MIT */
/* Counts each process that exits once. */
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

	if (record->type == PERF_RECORD_COMM && record->comm.exec)
		return take_exit_back(o, ev);
	if (record->type == PERF_RECORD_FORK && ev->thread &&
		attar_run_is_selected(run, ev->thread) && !overview_is_own(o, run, ev->thread))
		r = overview_slices_began(run, o, (pid_t)record->task.tid, ev->time);
	if (r < 0 || record->type != PERF_RECORD_FORK || record->task.pid == record->task.ppid)
		return r;
	pid = record->task.pid; /* of a new process */
	attar_pairs_drop(o->exited, &pid, sizeof(pid));
	return 0;
}
