/* SPDX-License-Identifier: MIT */
/*
 * The load of the drain benchmarks: a child on CPU 0 that makes a known number of getppid() system
 * calls when released, and reports the CPU time of one.
 */
#ifndef FLOOD_H
#define FLOOD_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct flood {
	pid_t pid;
	uint64_t calls;
	int go;   /* closed: the child starts */
	int done; /* readable: the child has made its calls; gives the ns of one as a double */
};

static inline uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static inline void flood_child(int go, int done, uint64_t calls)
{
	uint64_t start;
	double each;
	char byte;

	pin(0);
	if (read(go, &byte, 1))
		_exit(1);
	start = cpu_time();
	for (uint64_t i = 0; i < calls; i++)
		syscall(SYS_getppid);
	each = (double)(cpu_time() - start) / calls;
	_exit(write(done, &each, sizeof(each)) != sizeof(each));
}

/* Starts the waiting child for `calls` calls; moves the caller to the last CPU. */
static inline int flood_start(struct flood *flood, uint64_t calls)
{
	int go[2], done[2];

	if (pipe(go) || pipe(done))
		return -1;
	flood->calls = calls;
	flood->pid = fork();
	if (!flood->pid) {
		close(go[1]);
		flood_child(go[0], done[1], calls);
	}
	close(go[0]);
	close(done[1]);
	flood->go = go[1];
	flood->done = done[0];
	pin(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	return flood->pid < 0 ? -1 : 0;
}

/* Waits for the end; returns the ns of CPU time per call. */
static inline double flood_finish(struct flood *flood)
{
	double each = 0;

	if (read(flood->done, &each, sizeof(each)) != sizeof(each))
		each = 0;
	waitpid(flood->pid, NULL, 0);
	return each;
}

/* Prints the result of a reader as a JSON object. */
static inline void flood_print(
	double each, uint64_t seen, uint64_t lost, uint64_t reader_ns, uint64_t wakeups)
{
	printf("{\"call_ns\": %.1f, \"seen\": %lu, \"lost\": %lu, \"reader_ns\": %lu, \"wakeups\": "
	       "%lu}\n",
		each, seen, lost, reader_ns, wakeups);
}

#endif
