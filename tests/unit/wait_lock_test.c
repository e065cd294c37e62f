/* SPDX-License-Identifier: MIT */
/*
 * Locks change hands while threads are read: which threads wait for themselves, and which do not.
 */
#include "unit.h"

#include <pthread.h>

#include "attar/wait.h"
#include "base/proc.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile pid_t first, second;
static volatile bool is_free;

static void until_waits(volatile pid_t *tid)
{
	struct attar_wait wait = {.size = sizeof(wait)};

	while (!*tid)
		sched_yield();
	for (bool waits = false; !waits; sched_yield()) {
		struct attar_waits *fresh;

		assert_int_equal(attar_waits_new(ATTAR_WAITS_NO_FILES, &fresh), 0);
		waits = attar_waits_for(fresh, *tid, &wait) == 0 && wait.kind == ATTAR_WAIT_LOCK;
		attar_waits_free(fresh);
	}
}

/* Holds the mutex, releases it, and wants it again when the other thread has it. */
static void *hold_first(void *arg)
{
	pthread_mutex_lock(&mutex);
	first = gettid();
	while (!is_free)
		sched_yield();
	pthread_mutex_unlock(&mutex);
	while (is_free)
		sched_yield();
	pthread_mutex_lock(&mutex);
	return arg;
}

static void *hold_second(void *arg)
{
	while (!first)
		sched_yield();
	second = gettid();
	pthread_mutex_lock(&mutex);
	is_free = false;
	for (;;)
		pause();
	return arg;
}

static void test_holder_that_waits_later(void **state)
{
	struct attar_wait wait = {.size = sizeof(wait)};
	struct attar_waits *waits;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, hold_first, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, hold_second, NULL), 0);
	until_waits(&second);
	assert_int_equal(attar_waits_new(ATTAR_WAITS_NO_FILES, &waits), 0);
	assert_int_equal(attar_waits_for(waits, second, &wait), 0);
	assert_int_equal(wait.tid, first);
	is_free = true; /* the second one takes it, and the memory that was read is old */
	until_waits(&first);
	assert_int_equal(attar_waits_for(waits, first, &wait), 0);
	assert_int_equal(wait.kind, ATTAR_WAIT_LOCK);
	assert_int_not_equal(wait.tid, first);
	attar_waits_free(waits);
}

/* It can never have it. */
static void *lock_twice(void *arg)
{
	pthread_mutex_lock(arg);
	second = gettid();
	pthread_mutex_lock(arg);
	return arg;
}

static void test_thread_that_waits_for_itself(void **state)
{
	struct attar_wait wait = {.size = sizeof(wait)}, chain[4];
	static pthread_mutex_t twice = PTHREAD_MUTEX_INITIALIZER;
	struct attar_waits *waits;
	pthread_t thread;

	(void)state;
	second = 0;
	assert_int_equal(pthread_create(&thread, NULL, lock_twice, &twice), 0);
	until_waits(&second);
	assert_int_equal(attar_waits_new(ATTAR_WAITS_NO_FILES, &waits), 0);
	assert_int_equal(attar_waits_for(waits, second, &wait), 0);
	assert_int_equal(wait.tid, second);
	assert_int_equal(attar_waits_chain(waits, second, chain, 4), 1);
	attar_waits_free(waits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holder_that_waits_later),
		cmocka_unit_test(test_thread_that_waits_for_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
