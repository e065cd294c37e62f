/* SPDX-License-Identifier: MIT */
/*
 * Expected: main holds a mutex COUNT (5) times for MS (20) milliseconds while a second thread waits
 * for it in wait_for_lock(). usage: locked [COUNT [MS]]
 */
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "workload.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t held, done;

static __attribute__((noinline)) void wait_for_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void *waiter(void *arg)
{
	for (uint64_t i = 0; i < *(uint64_t *)arg; i++) {
		sem_wait(&held);
		wait_for_lock();
		sem_post(&done);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t count = argument(argc, argv, 1, 5), ms = argument(argc, argv, 2, 20);
	struct timespec time = {.tv_sec = (time_t)(ms / 1000),
		.tv_nsec = (long)(ms % 1000) * 1000000};
	pthread_t thread;

	sem_init(&held, 0, 0);
	sem_init(&done, 0, 0);
	pthread_create(&thread, NULL, waiter, &count);
	for (uint64_t i = 0; i < count; i++) {
		pthread_mutex_lock(&lock);
		sem_post(&held);
		nanosleep(&time, NULL);
		pthread_mutex_unlock(&lock);
		sem_wait(&done);
	}
	pthread_join(thread, NULL);
	return 0;
}
