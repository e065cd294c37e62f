/* SPDX-License-Identifier: MIT */
#include "sched/thread_sched.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "sched/thread_times.h"

int thread_sched_open(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool thread_sched_read(int fd, struct thread_sched *sched)
{
	char text[128];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &sched->ran, &sched->delay,
		       &sched->turns) == 3 &&
	       sched->turns;
}

static bool read_sched(pid_t pid, struct thread_sched *sched)
{
	int fd = thread_sched_open(pid, sched->tid);
	bool is_read = fd >= 0 && thread_sched_read(fd, sched);

	if (fd >= 0)
		close(fd);
	return is_read;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int add_thread(struct attar_run *run, void *arg, pid_t tid)
{
	const struct attar_thread *thread = attar_run_thread(run, tid);
	struct thread_sched sched = {.tid = tid}, *more;
	struct thread_scheds *scheds = arg;

	/* one of the system that has had no event is not known yet */
	if (!attar_run_is_selected(run, thread))
		return 0;
	/* of one that exited, which its parent has not waited for, the counts remain */
	if (thread && (thread->exited || !thread->process))
		return 0;
	sched.time = now();
	if (!read_sched(thread ? thread->process->pid : tid, &sched))
		return 0;
	if (!(scheds->n & (scheds->n - 1))) { /* it is full */
		more = realloc(scheds->at, (scheds->n ? 2 * scheds->n : 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		scheds->at = more;
	}
	scheds->at[scheds->n++] = sched;
	return 0;
}

static int by_tid(const void *a, const void *b)
{
	const struct thread_sched *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

int thread_scheds_read(struct attar_run *run, struct thread_scheds *ret_scheds)
{
	int r;

	*ret_scheds = (struct thread_scheds){.time = now()};
	r = thread_for_each(run, add_thread, ret_scheds);
	if (r < 0)
		thread_scheds_done(ret_scheds);
	else if (ret_scheds->n)
		qsort(ret_scheds->at, ret_scheds->n, sizeof(*ret_scheds->at), by_tid);
	return r;
}

int thread_scheds_recorded(struct attar_run *run, bool at_end, struct thread_scheds *ret_scheds)
{
	const size_t n = run_get_scheds(run, at_end, NULL, 0);
	struct run_sched *found = calloc(n + 1, sizeof(*found));

	*ret_scheds = (struct thread_scheds){.at = calloc(n + 1, sizeof(*ret_scheds->at))};
	if (!found || !ret_scheds->at) {
		free(found);
		thread_scheds_done(ret_scheds);
		return -ENOMEM;
	}
	run_get_scheds(run, at_end, found, n);
	for (size_t i = 0; i < n; i++) {
		if (!attar_run_is_selected(run, attar_run_thread(run, found[i].tid)))
			continue;
		ret_scheds->at[ret_scheds->n++] = (struct thread_sched){
			found[i].tid, found[i].time, found[i].ran, found[i].delay, found[i].turns};
		ret_scheds->time = found[i].time;
	}
	free(found);
	qsort(ret_scheds->at, ret_scheds->n, sizeof(*ret_scheds->at), by_tid);
	return 0;
}

void thread_scheds_done(struct thread_scheds *scheds)
{
	free(scheds->at);
	*scheds = (struct thread_scheds){0};
}

const struct thread_sched *thread_scheds_find(const struct thread_scheds *scheds, pid_t tid)
{
	const struct thread_sched key = {.tid = tid};

	return scheds->n ? bsearch(&key, scheds->at, scheds->n, sizeof(key), by_tid) : NULL;
}

bool thread_scheds_between(const struct thread_sched *first, const struct thread_sched *last,
	struct thread_sched *ret_change)
{
	if (last->ran < first->ran || last->delay < first->delay || last->turns < first->turns)
		return false;
	*ret_change = (struct thread_sched){last->tid, last->time - first->time,
		last->ran - first->ran, last->delay - first->delay, last->turns - first->turns};
	return true;
}

bool thread_scheds_change(const struct thread_scheds *from, const struct thread_scheds *to,
	pid_t tid, struct thread_sched *ret_change)
{
	const struct thread_sched *first = thread_scheds_find(from, tid),
				  *last = thread_scheds_find(to, tid);

	return first && last && thread_scheds_between(first, last, ret_change);
}
