/* SPDX-License-Identifier: MIT */
#include "sched/futex.h"

/* futex(2). */
enum {
	COMMAND = 127,
	PRIVATE_FLAG = 128,
	WAIT = 0,
	WAKE = 1,
	LOCK_PI = 6,
	UNLOCK_PI = 7,
	WAIT_BITSET = 9,
	WAKE_BITSET = 10,
	WAIT_REQUEUE_PI = 11,
	LOCK_PI2 = 13,
};

/*
 * The value of a mutex of glibc, Rust and Go with waiters, and the values of a read-write lock of
 * glibc; also in calls with a time limit.
 */
static bool is_of_lock(uint64_t value)
{
	return (uint32_t)value == 2 || (uint32_t)value == 3;
}

static bool is_join(const struct attar_run *run, const struct attar_process *process, uint64_t op,
	uint64_t value)
{
	const struct attar_thread *thread;

	if ((op & PRIVATE_FLAG) || !process || !(uint32_t)value)
		return false;
	thread = attar_run_thread(run, (pid_t)(uint32_t)value);
	return thread && thread->process && thread->process->pid == process->pid;
}

bool futex_may_be_idle(uint64_t op, uint64_t value)
{
	return (op & (COMMAND | PRIVATE_FLAG)) == (WAIT | PRIVATE_FLAG) && !(uint32_t)value;
}

bool futex_may_be_turn(uint64_t op, uint64_t value)
{
	enum { USED = 2, TAKEN = 1 };

	return (op & COMMAND) == WAIT_BITSET && (uint32_t)value == (USED | TAKEN);
}

bool futex_is_mutex(uint64_t op, uint64_t value)
{
	switch (op & COMMAND) {
	case WAIT:
	case WAIT_BITSET:
		return is_of_lock(value);
	case LOCK_PI:
	case LOCK_PI2:
		return true;
	default:
		return false;
	}
}

enum futex_call futex_call_of(const struct attar_run *run, const struct attar_process *process,
	uint64_t op, uint64_t value)
{
	switch (op & COMMAND) {
	case WAIT: /* also glibc's pthread_join() before 2.34 */
		return is_join(run, process, op, value) ? FUTEX_CALL_JOIN : FUTEX_CALL_LOCK;
	case WAIT_BITSET:
		if (is_join(run, process, op, value))
			return FUTEX_CALL_JOIN;
		return is_of_lock(value) ? FUTEX_CALL_LOCK : FUTEX_CALL_CONDITION;
	case WAIT_REQUEUE_PI:
		return FUTEX_CALL_CONDITION;
	case LOCK_PI:
	case LOCK_PI2:
		return FUTEX_CALL_LOCK_PI;
	case WAKE:
	case WAKE_BITSET:
	case UNLOCK_PI:
		return FUTEX_CALL_WAKE;
	default:
		return FUTEX_CALL_OTHER;
	}
}
