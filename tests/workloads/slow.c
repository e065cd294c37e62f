/* SPDX-License-Identifier: MIT */
/*
 * Expected: is slow for the one reason that its first argument names, for MS (1500) milliseconds:
 * "cpu" computes, "lock": five threads compute under one mutex, "disk" writes FILE synchronously,
 * "sleep" sleeps 5 ms at a time, "faults" touches fresh pages, "crowd": six threads compute on CPU
 * 0, "convoy": four threads wait 40 of each 200 ms for a mutex under which a fifth one sleeps, and
 * all sleep for the rest of the time, so that waits for locks are 16 % of the time of all. With the
 * permission it takes precedence over other programs, except for "crowd".
 * usage: slow REASON [MS [FILE]]
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

enum { PAGES = 256, PAGE = 4096 };

static uint64_t end;
static uint64_t convoys;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static KEEP void compute(void)
{
	while (now() < end)
		turns(100000);
}

static void *compute_locked(void *arg)
{
	while (now() < end) {
		pthread_mutex_lock(&mutex);
		turns(1000000);
		pthread_mutex_unlock(&mutex);
		sched_yield(); /* or the thread takes the mutex again before others wake up */
	}
	return arg;
}

static void *compute_crowded(void *arg)
{
	compute();
	return arg;
}

static void in_threads(size_t n, void *(*fn)(void *))
{
	pthread_t threads[8];

	for (size_t i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, fn, NULL);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static KEEP void write_file(const char *path)
{
	static const char block[PAGE];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_DSYNC, 0600);

	for (uint64_t i = 0; fd >= 0 && now() < end; i++)
		if (pwrite(fd, block, sizeof(block), (off_t)(i % 1000) * PAGE) < 0)
			break;
	close(fd);
	unlink(path);
}

static KEEP void nap(void)
{
	const struct timespec time = {.tv_nsec = 5000000};

	while (now() < end)
		nanosleep(&time, NULL);
}

static void nap_ms(uint64_t ms)
{
	const struct timespec time = {.tv_nsec = (long)ms * 1000000};

	nanosleep(&time, NULL);
}

static void *join_convoy(void *arg)
{
	for (uint64_t left = convoys; left; left--) {
		if (arg)
			pthread_mutex_lock(&mutex);
		pthread_barrier_wait(&barrier);
		if (arg)
			nap_ms(40);
		else
			pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		nap_ms(160);
	}
	return arg;
}

static void convoy(uint64_t ms)
{
	pthread_t holder;

	convoys = ms / 200;
	pthread_barrier_init(&barrier, NULL, 5);
	pthread_create(&holder, NULL, join_convoy, &mutex);
	in_threads(4, join_convoy);
	pthread_join(holder, NULL);
}

static KEEP void touch(void)
{
	while (now() < end) {
		char *fresh = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (size_t i = 0; i < PAGES; i++)
			((volatile char *)fresh)[i * PAGE] = 1;
		munmap(fresh, PAGES * PAGE);
	}
}

static void take_precedence(void)
{
	const struct sched_param param = {.sched_priority = 1};

	sched_setscheduler(0, SCHED_FIFO, &param);
}

static void stay_on_cpu_0(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
	const char *reason = argc > 1 ? argv[1] : "cpu";

	end = now() + argument(argc, argv, 2, 1500) * 1000000;
	if (!strcmp(reason, "crowd")) {
		stay_on_cpu_0();
		in_threads(6, compute_crowded);
		return 0;
	}
	take_precedence();
	if (!strcmp(reason, "lock"))
		in_threads(5, compute_locked);
	else if (!strcmp(reason, "disk"))
		write_file(argc > 3 ? argv[3] : "slow.tmp");
	else if (!strcmp(reason, "sleep"))
		nap();
	else if (!strcmp(reason, "faults"))
		touch();
	else if (!strcmp(reason, "convoy"))
		convoy(argument(argc, argv, 2, 1500));
	else
		compute();
	return 0;
}
