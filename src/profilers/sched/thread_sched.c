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
	struct timespec now;
	int r;

	*ret_scheds = (struct thread_scheds){0};
	clock_gettime(CLOCK_MONOTONIC, &now);
	ret_scheds->time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	r = thread_for_each(run, add_thread, ret_scheds);
	if (r < 0)
		thread_scheds_done(ret_scheds);
	else if (ret_scheds->n)
		qsort(ret_scheds->at, ret_scheds->n, sizeof(*ret_scheds->at), by_tid);
	return r;
}

void thread_scheds_done(struct thread_scheds *scheds)
{
	free(scheds->at);
	*scheds = (struct thread_scheds){0};
}

static const struct thread_sched *find(const struct thread_scheds *scheds, pid_t tid)
{
	const struct thread_sched key = {.tid = tid};

	return scheds->n ? bsearch(&key, scheds->at, scheds->n, sizeof(key), by_tid) : NULL;
}

bool thread_scheds_has(const struct thread_scheds *scheds, pid_t tid)
{
	return find(scheds, tid) != NULL;
}

bool thread_scheds_change(const struct thread_scheds *from, const struct thread_scheds *to,
	pid_t tid, struct thread_sched *ret_change)
{
	const struct thread_sched *first = find(from, tid), *last = find(to, tid);

	/* otherwise another thread has the number of an earlier one */
	if (!first || !last || last->ran < first->ran || last->delay < first->delay ||
		last->turns < first->turns)
		return false;
	*ret_change = (struct thread_sched){tid, last->ran - first->ran, last->delay - first->delay,
		last->turns - first->turns};
	return true;
}
