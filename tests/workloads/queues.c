/* SPDX-License-Identifier: MIT */
/*
 * Expected: THREADS (600) threads take turns at LOCKS (4) mutexes. The holder of each sleeps for US
 * (2000) microseconds, or computes for about as long, and wakes the next thread: all others wait
 * for a lock. For each line of standard input, main prints how long threads have waited for locks
 * so far, with the waits for a CPU that follow, and how long they slept, in ns; the first line is
 * "ready". It ends with its standard input. usage: queues [THREADS [LOCKS [US [sleep|compute]]]]
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "workload.h"

enum { THREADS_MAX = 4096 };

static struct {
	_Atomic uint64_t waited, slept; /* ns */
	_Atomic uint64_t waits_since, sleeps_since;
} threads[THREADS_MAX];

static pthread_mutex_t locks[THREADS_MAX];
static uint64_t n_threads, n_locks;
static struct timespec hold;
static bool computes;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* At most one of both times of a thread has begun. */
static void end(_Atomic uint64_t *since, _Atomic uint64_t *sum)
{
	uint64_t began = *since;

	*since = 0;
	*sum += now() - began;
}

static void *take_turns(void *arg)
{
	uint64_t i = (uint64_t)arg;
	pthread_mutex_t *lock = &locks[i % n_locks];

	for (;;) {
		threads[i].waits_since = now();
		pthread_mutex_lock(lock);
		end(&threads[i].waits_since, &threads[i].waited);
		threads[i].sleeps_since = now();
		if (computes)
			turns((uint64_t)hold.tv_nsec / 2);
		else
			nanosleep(&hold, NULL);
		end(&threads[i].sleeps_since, &threads[i].slept);
		pthread_mutex_unlock(lock);
		sched_yield(); /* otherwise it could take the lock again before the next one */
		turns(1000);
	}
	return NULL;
}

static uint64_t sum_of(uint64_t time, uint64_t sum, uint64_t since)
{
	return sum + (since && time > since ? time - since : 0);
}

int main(int argc, char **argv)
{
	uint64_t us = argument(argc, argv, 3, 2000);
	char line[16];
	pthread_t thread;

	n_threads = argument(argc, argv, 1, 600);
	n_locks = argument(argc, argv, 2, 4);
	hold.tv_nsec = (long)us * 1000;
	computes = argc > 4 && !strcmp(argv[4], "compute");
	if (n_threads > THREADS_MAX || n_locks > n_threads)
		return 2;
	for (uint64_t i = 0; i < n_locks; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (uint64_t i = 0; i < n_threads; i++)
		if (pthread_create(&thread, NULL, take_turns, (void *)i) != 0)
			return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t time = now(), waited = 0, slept = 0;

		for (uint64_t i = 0; i < n_threads; i++) {
			waited += sum_of(time, threads[i].waited, threads[i].waits_since);
			slept += sum_of(time, threads[i].slept, threads[i].sleeps_since);
		}
		printf("%llu %llu\n", (unsigned long long)waited, (unsigned long long)slept);
		fflush(stdout);
	}
	return 0;
}
