/* SPDX-License-Identifier: MIT */
/*
 * The threads that caused the time of waits for locks. A thread that releases a lock while others
 * wait cannot have held it before the previous release: the time that all of them have waited since
 * then is attributed to it. The rest of a wait, from the last release on, is not attributed to any
 * thread: the waiter has been woken up, or its wait timed out.
 */
#ifndef PROFILERS_SCHED_LOCK_HOLDERS_H
#define PROFILERS_SCHED_LOCK_HOLDERS_H

#include "attar/stats.h"

enum { LOCK_KEY_MAX = 16 /* bytes of the key of a lock */ };

struct lock_holders {
	struct attar_keytable *table; /* sums of time, ns, by lock and thread */
	uint64_t serial;              /* the newest of an account */
	uint64_t forgotten;           /* accounts up to this one are no longer valid */
};

/* The waits for a lock that have not ended. Zeroed: none. */
struct lock_account {
	uint64_t serial;   /* 0: new */
	uint64_t waiters;  /* threads that wait now */
	uint64_t pending;  /* ns that they have waited since the last release, in all */
	uint64_t until;    /* ns: pending is the sum up to here */
	uint64_t released; /* ns: the last release */
};

/* Returns 0 or -ENOMEM. */
int lock_holders_open(struct lock_holders *holders);
void lock_holders_close(struct lock_holders *holders);

/* A wait begins at `time`. Returns a number for lock_holders_end(). */
uint64_t lock_holders_begin(
	struct lock_holders *holders, struct lock_account *account, uint64_t time);

/* A wait ends that began at `since`, with the number `serial`. Returns 0 or -ENOMEM. */
int lock_holders_end(struct lock_holders *holders, struct lock_account *account, const void *lock,
	uint64_t serial, uint64_t since, uint64_t time);

/* A thread releases the lock. Returns 0 or -ENOMEM. */
int lock_holders_release(struct lock_holders *holders, struct lock_account *account,
	const void *lock, int64_t tid, uint64_t time);

/* Time of waits for this lock that the thread caused. Returns 0 or -ENOMEM. */
int lock_holders_add(
	struct lock_holders *holders, const void *lock, int64_t tid, uint64_t duration);

/* Discards open waits, whose ends are unknown: they are not attributed to any thread. */
void lock_holders_forget(struct lock_holders *holders);

/* ---- reports ---- */

/* The thread that caused most of the waiting time of a lock. */
struct lock_holder {
	int64_t tid;  /* 0: none is known */
	uint64_t due; /* ns */
	uint64_t all; /* ns: the waiting time of the lock */
};

/* Ends the interval of the table. Returns 0 or -ENOMEM. */
int lock_holders_end_interval(struct lock_holders *holders);

/*
 * Reads a row of the table: returns its lock, the key, and updates *holder with the times of this
 * lock.
 */
const void *lock_holders_lock(const struct attar_keyrow *row);
void lock_holders_read(
	const struct attar_keyrow *row, enum attar_scope scope, struct lock_holder *holder);

#endif
