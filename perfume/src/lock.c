/* SPDX-License-Identifier: CC0-1.0 */
/* The lock, which is free in a forked child, and the flag that identifies a forked child. */
#include "internal.h"

static struct home *shared_home;

/*
 * fork() waits for the lock, so that all lists are consistent in the child. The lock is also free
 * in a child that was created without fork().
 */
static sigset_t before_fork; /* signal mask of the forking thread, which holds the lock */

static void fork_begins(void)
{
	sigset_t old;

	lock(&old);
	before_fork = old;
}

static void fork_is_over(void)
{
	sigset_t old = before_fork;

	unlock(&old);
}

static void fork_in_child(void)
{
	sigset_t old = before_fork;

	/* Linux before 4.14 has no MADV_WIPEONFORK. */
	memset(shared_home, 0, sizeof(*shared_home));
	area_forked();
	unlock(&old);
}

static struct home *home_new(void)
{
	static struct home fallback;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct home *none = NULL, *home;

	home = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (home == MAP_FAILED)
		home = &fallback;
	home->settled = 1;
	if (!__atomic_compare_exchange_n(
		    &shared_home, &none, home, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		if (home != &fallback)
			munmap(home, page);
		return none;
	}
	if (home != &fallback)
		madvise(home, page, MADV_WIPEONFORK);
	/*
	 * Do this here without our lock, because older C libraries hold one of their locks while
	 * they call us.
	 */
	pthread_atfork(fork_begins, fork_is_over, fork_in_child);
	return home;
}

static inline __attribute__((always_inline)) struct home *home_get(void)
{
	struct home *home = __atomic_load_n(&shared_home, __ATOMIC_ACQUIRE);

	return likely(home) ? home : home_new();
}

/*
 * Blocks signals, so that a handler that writes an event cannot deadlock on a lock held by its own
 * thread.
 */
static void lock(sigset_t *ret_old)
{
	struct home *home = home_get();
	sigset_t all;
	uint32_t open = 0;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, ret_old);
	if (__atomic_compare_exchange_n(
		    &home->lock, &open, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&home->lock, 2, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &home->lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void unlock(const sigset_t *old)
{
	struct home *home = home_get();

	if (__atomic_exchange_n(&home->lock, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, &home->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	sigprocmask(SIG_SETMASK, old, NULL);
}
