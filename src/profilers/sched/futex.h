/* SPDX-License-Identifier: MIT */
/* Classifies calls of futex(2) by their arguments. */
#ifndef PROFILERS_SCHED_FUTEX_H
#define PROFILERS_SCHED_FUTEX_H

#include "attar/run.h"

enum futex_call {
	FUTEX_CALL_OTHER,
	FUTEX_CALL_WAKE,
	FUTEX_CALL_LOCK,
	FUTEX_CALL_LOCK_PI,   /* with priority inheritance */
	FUTEX_CALL_CONDITION, /* also semaphores, and the locks of some languages */
	FUTEX_CALL_JOIN,      /* glibc's pthread_join() */
};

/*
 * op and value are arguments 1 and 2 of the call. process: of the calling thread; NULL: unknown.
 * When a thread exits, the kernel clears its tid in memory and wakes that address as a futex that
 * is not private. Therefore pthread_join() waits with the tid as the expected value, and without
 * FUTEX_PRIVATE_FLAG.
 */
enum futex_call futex_call_of(const struct attar_run *run, const struct attar_process *process,
	uint64_t op, uint64_t value);

/* Whether a wait is certainly for a mutex or a read-write lock, which a thread holds. */
bool futex_is_mutex(uint64_t op, uint64_t value);

/*
 * Whether a wait has the arguments of one for the turn to write, or to read, of a read-write lock
 * of glibc. The futex of the writers' turn follows the futex of the phase, FUTEX_BYTES bytes on,
 * which the thread wakes that has held the lock.
 */
enum { FUTEX_BYTES = 4 };
bool futex_may_be_turn(uint64_t op, uint64_t value);

/*
 * Whether a FUTEX_CALL_LOCK has the arguments of an idle thread of Go: its note is 0 until it is
 * woken up. glibc's locks have other values. See frames_are_idle_go().
 */
bool futex_may_be_idle(uint64_t op, uint64_t value);

#endif
