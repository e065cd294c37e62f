/* SPDX-License-Identifier: MIT */
#include "sched/lock_holders.h"

#include <errno.h>
#include <string.h>

enum { HOLDERS_MAX = 65536, ALL = 0 /* tid of the row with all waiting time of a lock */ };

struct holder_key {
	unsigned char lock[LOCK_KEY_MAX];
	int64_t tid;
};

int lock_holders_open(struct lock_holders *holders)
{
	const struct attar_keytable_opts opts = {.size = sizeof(opts),
		.sums = 1,
		.key_max = sizeof(struct holder_key),
		.keys_max = HOLDERS_MAX};

	return attar_keytable_new(&opts, &holders->table);
}

void lock_holders_close(struct lock_holders *holders)
{
	attar_keytable_free(holders->table);
}

static int add(struct lock_holders *holders, const void *lock, int64_t tid, uint64_t duration)
{
	struct holder_key key = {.tid = tid};
	struct attar_keyrow *row;

	memcpy(key.lock, lock, LOCK_KEY_MAX);
	row = attar_keytable_at(holders->table, &key, sizeof(key));
	if (!row)
		return -ENOMEM;
	row->interval.sums[0] += duration;
	return 0;
}

int lock_holders_add(struct lock_holders *holders, const void *lock, int64_t tid, uint64_t duration)
{
	int r = duration ? add(holders, lock, ALL, duration) : 0;

	return r == 0 && duration && tid > 0 ? add(holders, lock, tid, duration) : r;
}

/* Adds the time since the last change. */
static void advance(struct lock_holders *holders, struct lock_account *account, uint64_t time)
{
	if (account->serial <= holders->forgotten)
		*account = (struct lock_account){.serial = ++holders->serial};
	if (time > account->until) {
		account->pending += account->waiters * (time - account->until);
		account->until = time;
	}
}

uint64_t lock_holders_begin(
	struct lock_holders *holders, struct lock_account *account, uint64_t time)
{
	advance(holders, account, time);
	account->waiters++;
	return account->serial;
}

/* Returns the time since the last release in the wait. */
static uint64_t leave(struct lock_holders *holders, struct lock_account *account, uint64_t serial,
	uint64_t since, uint64_t time)
{
	uint64_t rest;

	advance(holders, account, time);
	if (account->serial == serial && since < account->released)
		since = account->released;
	rest = time > since ? time - since : 0;
	if (account->serial == serial) {
		account->pending -= rest < account->pending ? rest : account->pending;
		account->waiters--;
	}
	return rest;
}

int lock_holders_end(struct lock_holders *holders, struct lock_account *account, const void *lock,
	uint64_t serial, uint64_t since, uint64_t time)
{
	return lock_holders_add(holders, lock, ALL, leave(holders, account, serial, since, time));
}

int lock_holders_release(struct lock_holders *holders, struct lock_account *account,
	const void *lock, int64_t tid, uint64_t time)
{
	uint64_t due;

	advance(holders, account, time);
	due = account->pending;
	account->pending = 0;
	account->released = time;
	return lock_holders_add(holders, lock, tid, due);
}

void lock_holders_forget(struct lock_holders *holders)
{
	holders->forgotten = holders->serial;
}

/* ---- reports ---- */

int lock_holders_end_interval(struct lock_holders *holders)
{
	return attar_keytable_end_interval(holders->table);
}

const void *lock_holders_lock(const struct attar_keyrow *row)
{
	return ((const struct holder_key *)row->key)->lock;
}

/* Of equal ones, the smaller tid, since the table has no order. */
void lock_holders_read(
	const struct attar_keyrow *row, enum attar_scope scope, struct lock_holder *holder)
{
	const struct holder_key *key = row->key;
	uint64_t sum = attar_keyrow_sums(row, scope)->sums[0];

	if (key->tid == ALL) {
		holder->all = sum;
	} else if (sum > holder->due || (sum && sum == holder->due && key->tid < holder->tid)) {
		holder->tid = key->tid;
		holder->due = sum;
	}
}
