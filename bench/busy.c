/* SPDX-License-Identifier: MIT */
/*
 * busy COUNTERS: keeps all CPUs busy in stacks 10 to 40 deep until it is killed. Each thread counts
 * its work in its own cache line of the file COUNTERS: a counter, then the CPU time (ns) of the
 * thread when it last wrote both.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct counter {
	volatile uint64_t sequence, work, cpu_ns;
	char rest[128 - 3 * sizeof(uint64_t)];
};

struct thread {
	pthread_t id;
	struct counter *counter;
	int cpu;
};

#define KEEP __attribute__((noinline))

static KEEP uint64_t leaf(uint64_t x)
{
	for (int i = 0; i < 2000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static KEEP uint64_t even(uint64_t x, unsigned depth);

static KEEP uint64_t odd(uint64_t x, unsigned depth)
{
	x = depth ? even(x, depth - 1) : leaf(x);
	__asm__ volatile("" : "+r"(x));
	return x;
}

static KEEP uint64_t even(uint64_t x, unsigned depth)
{
	x = depth ? odd(x, depth - 1) : leaf(x);
	__asm__ volatile("" : "+r"(x));
	return x;
}

static KEEP void *work(void *arg)
{
	struct thread *t = arg;
	struct timespec now;
	cpu_set_t set;
	uint64_t x = t->cpu;

	CPU_ZERO(&set);
	CPU_SET(t->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (;;) {
		for (int i = 0; i < 1000; i++)
			x = even(x, 10 + (x >> 59));
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		/* A seqlock: odd while the pair changes. */
		t->counter->sequence++;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		t->counter->work += 1000;
		t->counter->cpu_ns = now.tv_sec * 1000000000ull + now.tv_nsec;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		t->counter->sequence++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	struct thread *threads = calloc(cpus, sizeof(*threads));
	struct counter *counters;

	if (fd < 0 || !threads || ftruncate(fd, cpus * sizeof(*counters)))
		return 1;
	counters = mmap(NULL, cpus * sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counters == MAP_FAILED)
		return 1;
	for (int i = 0; i < cpus; i++) {
		threads[i].counter = &counters[i];
		threads[i].cpu = i;
		if (pthread_create(&threads[i].id, NULL, work, &threads[i]))
			return 1;
	}
	pause();
	return 0;
}
