/* SPDX-License-Identifier: MIT */
/*
 * Expected: a thread named "holder" holds a mutex COUNT (5) times for MS (50) milliseconds, asleep.
 * Each time, four other threads wait for it, and release it at once. The threads meet at barriers,
 * outside these waits. main waits for the end of the holder: the whole time. It prints the tid
 * of the holder. usage: convoy [COUNT [MS]]
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

enum { WAITERS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held, done;
static uint64_t count;
static struct timespec hold;

KEEP static void lock_and_unlock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	turns(1);
}

static void *waiter(void *arg)
{
	for (uint64_t i = 0; i < count; i++) {
		pthread_barrier_wait(&held);
		lock_and_unlock();
		pthread_barrier_wait(&done);
	}
	return arg;
}

static void *holder(void *arg)
{
	pthread_setname_np(pthread_self(), "holder");
	printf("%d\n", (int)gettid());
	fflush(stdout);
	for (uint64_t i = 0; i < count; i++) {
		pthread_mutex_lock(&lock);
		pthread_barrier_wait(&held);
		nanosleep(&hold, NULL);
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&done);
	}
	return arg;
}

KEEP static void join(pthread_t thread)
{
	pthread_join(thread, NULL);
	turns(1);
}

int main(int argc, char **argv)
{
	uint64_t ms = argument(argc, argv, 2, 50);
	pthread_t threads[WAITERS + 1];

	count = argument(argc, argv, 1, 5);
	hold = (struct timespec){
		.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
	pthread_barrier_init(&held, NULL, WAITERS + 1);
	pthread_barrier_init(&done, NULL, WAITERS + 1);
	for (int i = 0; i <= WAITERS; i++)
		pthread_create(&threads[i], NULL, i ? waiter : holder, NULL);
	for (int i = 0; i <= WAITERS; i++)
		join(threads[i]);
	return 0;
}
