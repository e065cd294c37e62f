/* SPDX-License-Identifier: MIT */
/*
 * The field prev_state of sched:sched_switch: why a task was switched out. The kernel reports one
 * bit of TASK_REPORT, and 0x100, or 0 in older kernels, for a task that was preempted. Before Linux
 * 4.14, the idle state of kernel threads was uninterruptible with TASK_NOLOAD.
 */
#ifndef PROFILERS_LIB_PREV_STATE_H
#define PROFILERS_LIB_PREV_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	PREV_SLEEPS = 0x01,
	PREV_UNINTERRUPTIBLE = 0x02,
	PREV_STOPPED = 0x04,
	PREV_TRACED = 0x08,
	PREV_DEAD = 0x10,
	PREV_ZOMBIE = 0x20,
	PREV_PARKED = 0x40,
	PREV_IDLE = 0x80,
	PREV_NOLOAD = 0x400,
};

/* The task was preempted, or yielded: it still waits for a CPU. */
static inline bool prev_is_runnable(uint64_t prev_state)
{
	return !(prev_state & 0xff);
}

/* A kernel thread waits for work. */
static inline bool prev_is_idle(uint64_t prev_state)
{
	const uint64_t old = PREV_UNINTERRUPTIBLE | PREV_NOLOAD;

	return prev_state & PREV_IDLE || (prev_state & old) == old;
}

static inline bool prev_is_uninterruptible(uint64_t prev_state)
{
	return prev_state & PREV_UNINTERRUPTIBLE && !prev_is_idle(prev_state);
}

/* By a signal, or a debugger. */
static inline bool prev_is_stopped(uint64_t prev_state)
{
	return prev_state & (PREV_STOPPED | PREV_TRACED);
}

/* The task waits for an event, or for a signal or debugger to continue it. */
static inline bool prev_is_blocked(uint64_t prev_state)
{
	return prev_state & (PREV_SLEEPS | PREV_UNINTERRUPTIBLE | PREV_STOPPED | PREV_TRACED) &&
	       !prev_is_idle(prev_state);
}

/* It was the task's last switch. */
static inline bool prev_has_exited(uint64_t prev_state)
{
	return prev_state & (PREV_DEAD | PREV_ZOMBIE) && !prev_is_blocked(prev_state);
}

#endif
