/* SPDX-License-Identifier: MIT */
#include "run/record/recorded_waits.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "attar/private/wait.h"
#include "base/proc.h"
#include "run/record/renewal.h"
#include "run/run.h"
#include "wait/wait.h"

/*
 * ns, for each of what threads wait for and what the scheduler has counted. The first takes about
 * 30 us of CPU time for a thread that sleeps, the second 8 us, and both much longer on a busy
 * machine. At the end, no event is waited for.
 */
static const uint64_t read_cpu_max = 100000000;
static const uint64_t read_max[RECORDING_MOMENTS] = {500000000, 2000000000};

enum { PATH_BYTES = 64 };

struct reading {
	struct attar_waits *waits;
	struct recording_waits found;
	recording_scheds scheds;
	enum recording_moment moment;
	uint64_t end, cpu_end; /* ns, of the clocks */
	pid_t pid;             /* whose threads are read */
	proc_fn *fn;           /* reads one of them */
};

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool has_time(const struct reading *reading)
{
	return base_now() < reading->end && cpu_time() < reading->cpu_end;
}

static void read_comm(struct attar_thread_wait *thread)
{
	struct buf text _cleanup_(buf_done) = {0};
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)thread->tid);
	if (proc_read_line(path, &text) < 0 || !text.len)
		return;
	snprintf(thread->comm, sizeof(thread->comm), "%.*s", (int)text.len - 1, text.data);
}

static int read_sched(void *ctx, int tid)
{
	struct reading *reading = ctx;
	struct recording_sched sched = {.pid = reading->pid, .tid = tid, .time = base_now()};
	struct proc_sched counted;

	if (reading->scheds.n == RECORDING_SCHEDS_MAX || !has_time(reading) ||
		!proc_read_sched(reading->pid, tid, &counted))
		return 0;
	sched.ran = counted.ran;
	sched.delay = counted.delay;
	sched.turns = counted.turns;
	return vec_push(&reading->scheds, sched) < 0 ? base_oom() : 0;
}

static int read_thread(void *ctx, int tid)
{
	struct attar_wait chain[RECORDING_WAITS_CHAIN_MAX];
	struct reading *reading = ctx;
	struct attar_thread_wait thread = {.pid = reading->pid, .tid = tid, .chain = chain};
	int n;

	if (!has_time(reading) || reading->found.threads.n == RECORDING_WAITS_MAX) {
		reading->found.unread++;
		return 0;
	}
	waits_set_thread(reading->waits, reading->pid, tid);
	n = attar_waits_chain(reading->waits, tid, chain, RECORDING_WAITS_CHAIN_MAX);
	if (n <= 0 || chain->kind == ATTAR_WAIT_NONE) {
		attar_error_clear(); /* it runs, or has ended */
		return n == -ENOMEM ? base_oom() : 0;
	}
	thread.n = (size_t)n;
	thread.since = waits_get_since(reading->waits, tid);
	read_comm(&thread);
	return recording_waits_add(&reading->found, &thread);
}

static int read_process(void *ctx, int pid)
{
	struct reading *reading = ctx;
	int r;

	if (pid == getpid())
		return 0;
	reading->pid = pid;
	r = proc_each_thread(pid, reading->fn, reading);
	if (r == -ENOMEM)
		return r;
	attar_error_clear(); /* it has ended */
	return 0;
}

static int read_listed(struct attar_run *run, struct reading *reading)
{
	parse_ints tids = {0};
	int r = renewal_list(run, &tids);

	vec_each (&tids, tid) {
		reading->pid = wait_process_of(*tid);
		if (r == 0 && reading->pid)
			r = reading->fn(reading, *tid);
	}
	vec_done(&tids);
	return r;
}

static int read_all(struct attar_run *run, struct reading *reading, proc_fn *fn)
{
	reading->fn = fn;
	reading->end = base_now() + read_max[fn == read_sched ? RECORDING_BEGAN : reading->moment];
	reading->cpu_end = cpu_time() + read_cpu_max;
	return reading->found.is_system ? proc_each_process(read_process, reading)
					: read_listed(run, reading);
}

/* The counts of the scheduler are read next to the first or the last event. */
int recorded_waits_add(
	struct attar_run *run, struct recording_writer *w, enum recording_moment moment)
{
	struct reading reading = {.found = {.time = base_now()}, .moment = moment};
	int r = 0;

	/* which tasks are in control groups is not known here */
	if (attar_run_target_kind(run) == ATTAR_TARGET_CGROUPS)
		return 0;
	reading.found.is_system = attar_run_target_kind(run) == ATTAR_TARGET_SYSTEM;
	if (moment == RECORDING_ENDED)
		r = read_all(run, &reading, read_sched);
	if (r == 0)
		r = attar_waits_new(0, &reading.waits);
	if (r == 0)
		r = read_all(run, &reading, read_thread);
	if (r == 0 && moment == RECORDING_BEGAN)
		r = read_all(run, &reading, read_sched);
	attar_waits_free(reading.waits);
	if (r == 0)
		r = recording_writer_add_waits(w, &reading.found, moment);
	if (r == 0)
		r = recording_writer_add_scheds(w, &reading.scheds, moment);
	vec_done(&reading.scheds);
	recording_waits_done(&reading.found);
	return r;
}
