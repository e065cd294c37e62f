/* SPDX-License-Identifier: MIT */
/*
 * Internals of thread_times.h: thread_times.c has the states of threads and their times,
 * thread_switches.c the events that change them, thread_reasons.c the reasons of waits.
 */
#ifndef PROFILERS_SCHED_THREAD_TIMES_INTERNAL_H
#define PROFILERS_SCHED_THREAD_TIMES_INTERNAL_H

#include "sched/thread_times.h"

static inline struct attar_stamp thread_times_stamp(const struct attar_event *ev)
{
	return (struct attar_stamp){.time = ev->time, .task = ATTAR_NO_TASK, .cpu = (int)ev->cpu};
}

/* ---- thread_times.c ---- */

/* The state of a thread, whose value is a struct thread_block; NULL: it has had none. */
struct attar_state *thread_times_state(struct thread_times *times, pid_t tid);

/* NULL: it is not selected. */
const struct attar_thread *thread_times_selected(const struct attar_run *run, pid_t tid);

/*
 * Changes the state of a selected thread; with --cpus, to an unknown one if it is on another CPU,
 * at->cpu. Returns 1 and its block; 0: it is not selected, or held; or a negative errno.
 */
int thread_times_change(struct attar_run *run, struct thread_times *times, pid_t tid, uint32_t to,
	const struct attar_stamp *at, bool is_kernel_thread, struct thread_block **ret_block);

/* Ends the segment of a thread, which is then the newest one of all, in the same state. */
int thread_times_begin_again(struct attar_run *run, struct thread_times *times,
	struct attar_state *state, uint64_t time);

/* ---- thread_switches.c ---- */

/* Requests the events that change states. Only from open(). 0 or a negative errno. */
int thread_times_open_switches(struct attar_run *run, struct thread_times *times);

/* ---- thread_reasons.c ---- */

/* Why the thread of a context switch, which does not run on, is switched out in this stack. */
enum thread_state thread_times_why(struct attar_run *run, struct thread_times *times,
	const struct attar_event *ev, bool is_uninterruptible, const struct frame_summary *frames,
	const attar_location *stack, size_t n, bool *ret_is_mutex);

/*
 * Requests the events of a recording that have the arguments of system calls: its samples of
 * switches have no registers, which have them live. Only from open(). 0 or a negative errno.
 */
int thread_times_open_calls(struct attar_run *run);

#endif
