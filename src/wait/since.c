/* SPDX-License-Identifier: MIT */
/*
 * Since when a thread waits: when it was on a CPU last. /proc/TID/sched has this time on the clock
 * of the CPU's run queue (se.exec_start), which the kernel stops while interrupts or the hypervisor
 * take the CPU's time: it is seconds behind CLOCK_MONOTONIC, on each CPU others. A thread that
 * begins on the CPU shows by how much.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "attar/private/wait.h"
#include "base/check_arg.h"
#include "base/proc.h"
#include "wait/wait.h"

enum {
	SINCE_CPUS_MAX = 1 << 13,
	SINCE_STACK_BYTES = 256 << 10,
	SINCE_TRIES = 3,
	SINCE_LATE_MAX = 2, /* CPUs that have not answered, after which no other is asked */
};

static const long answer_max = 100000000; /* ns: a CPU may have other things to do */

/* The CPU's answer. Freed by the last of both threads. */
struct since_answer {
	atomic_int users;
	sem_t done;
	int64_t behind; /* ns; INT64_MIN: unknown */
};

/* ns: when the thread was on a CPU last, on the clock of this CPU's run queue; 0: unknown. */
static uint64_t since_parse(struct buf *text)
{
	static const char name[] = "\nse.exec_start";
	const char *at = strstr(buf_text(text), name);
	unsigned long long ms;
	unsigned ns;

	at = at ? strchr(at, ':') : NULL;
	if (!at || sscanf(at, ": %llu.%6u", &ms, &ns) != 2 || ms > UINT64_MAX / 1000000 - 1)
		return 0;
	return ms * 1000000 + ns;
}

/* Right after the thread has got the CPU again: each reading is somewhat late, none is early. */
static int64_t since_measure(void)
{
	int64_t behind = INT64_MIN;

	for (int i = 0; i < SINCE_TRIES; i++) {
		struct buf text _cleanup_(buf_done) = {0};
		uint64_t read;
		int64_t late;

		sched_yield();
		if (proc_read_line("/proc/thread-self/sched", &text) < 0)
			break;
		read = since_parse(&text);
		if (!read)
			break;
		late = (int64_t)(base_now() - read);
		behind = behind == INT64_MIN ? late : MIN(behind, late);
	}
	return behind;
}

static void since_release(struct since_answer *answer)
{
	if (atomic_fetch_sub(&answer->users, 1) != 1)
		return;
	sem_destroy(&answer->done);
	free(answer);
}

static void *since_answer(void *arg)
{
	struct since_answer *answer = arg;

	answer->behind = since_measure();
	sem_post(&answer->done);
	since_release(answer);
	return NULL;
}

/* The thread is never joined: a thread of a higher priority may have the CPU for ever. */
static int since_start(struct since_answer *answer, int cpu)
{
	const size_t size = CPU_ALLOC_SIZE(SINCE_CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(SINCE_CPUS_MAX);
	pthread_attr_t attr;
	sigset_t all, former;
	pthread_t thread;
	int r;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)cpu, size, set);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, SINCE_STACK_BYTES);
	r = pthread_attr_setaffinity_np(&attr, size, set);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &former);
	if (!r)
		r = pthread_create(&thread, &attr, since_answer, answer);
	pthread_sigmask(SIG_SETMASK, &former, NULL);
	pthread_attr_destroy(&attr);
	CPU_FREE(set);
	return -r;
}

static bool since_await(struct since_answer *answer)
{
	struct timespec until;
	int r;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += answer_max;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	r = TEMP_FAILURE_RETRY(sem_timedwait(&answer->done, &until));
	return r == 0;
}

static int64_t since_ask(struct attar_waits *waits, int cpu)
{
	struct since_answer *answer = calloc(1, sizeof(*answer));
	int64_t behind = INT64_MIN;

	if (!answer)
		return behind;
	answer->behind = behind;
	atomic_init(&answer->users, 2);
	sem_init(&answer->done, 0, 0);
	if (since_start(answer, cpu) < 0)
		since_release(answer);
	else if (since_await(answer))
		behind = answer->behind;
	else
		waits->late_cpus++;
	since_release(answer);
	return behind;
}

/* By how much the clock of a CPU's run queue is behind; INT64_MIN: unknown. */
static int64_t since_behind(struct attar_waits *waits, int cpu)
{
	const struct wait_cpu new = {.cpu = cpu, .behind = INT64_MIN};
	struct wait_cpu *known;

	vec_each (&waits->cpus, it)
		if (it->cpu == cpu)
			return it->behind;
	if (waits->late_cpus == SINCE_LATE_MAX || vec_push(&waits->cpus, new) < 0)
		return INT64_MIN;
	known = &waits->cpus.at[waits->cpus.n - 1];
	known->behind = since_ask(waits, cpu);
	return known->behind;
}

uint64_t waits_get_since(struct attar_waits *waits, pid_t tid)
{
	struct buf text _cleanup_(buf_done) = {0};
	uint64_t read, since, now;
	int64_t behind;
	int cpu;

	CHECK_ARG_OR(waits, "waits", 0);
	if (waits->process != check_process)
		return 0;
	read = wait_read_line(waits, tid, "sched", &text) == 0 ? since_parse(&text) : 0;
	cpu = read ? wait_read_stat(waits, tid)->cpu : -1;
	behind = cpu >= 0 && cpu < SINCE_CPUS_MAX ? since_behind(waits, cpu) : INT64_MIN;
	now = base_now();
	since = read + (uint64_t)behind;
	/* it may have begun before the clock */
	return behind == INT64_MIN || !since || since > now ? 0 : since;
}
