/* SPDX-License-Identifier: MIT */
/* Tasks of counting and sampling: the functions of pmu.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "error.h"
#include "forks.h"
#include "spe.h"
#include "task.h"

enum { SHORTEST_INTERVAL = 100 }; /* ms */

static struct kp_origin *new_origin(enum PmuTaskType type, const struct PmuAttr *attr)
{
	struct attar_catalog_opts opts = {
		.size = sizeof(opts), .mount = true, .inherited = attr->numPid > 0};
	struct kp_origin *origin = kp_origin_new(&opts);

	if (!origin) {
		kp_fail(COMMON_ERR_NOMEM, "out of memory");
		return NULL;
	}
	origin->type = type;
	origin->mode = attr->symbolMode;
	return origin;
}

/* The origin's lock is held while names of events are looked up. */
static int open_task(struct kp_task *task, const struct PmuAttr *attr)
{
	int r = kp_open_target(task, attr);

	pthread_mutex_lock(&task->origin->lock);
	if (r == SUCCESS)
		r = kp_open_events(task, attr);
	pthread_mutex_unlock(&task->origin->lock);
	if (r == SUCCESS && task->type == SAMPLING)
		r = kp_sample_open(task);
	if (r == SUCCESS && task->type == SPE_SAMPLING)
		r = kp_spe_open(task, attr);
	if (r == SUCCESS && task->type == COUNTING && attr->includeNewFork && attr->numPid > 0)
		r = kp_forks_open(task, attr);
	return r;
}

static int open_spe(struct kp_task *task, const struct PmuAttr *attr)
{
	struct kp_spe_task spe;
	int r;

	pthread_mutex_lock(&task->origin->lock);
	r = kp_spe_find(task->origin, attr, &spe);
	pthread_mutex_unlock(&task->origin->lock);
	return r == SUCCESS ? open_task(task, &spe.attr) : r;
}

int kp_open(struct kp_origin *origin, enum PmuTaskType type, const struct PmuAttr *attr,
	enum kp_use use)
{
	struct kp_task *task = kp_task_new(KP_KIND_PMU, type, origin);
	bool blocked = use == KP_USE_BLOCKED;
	int pd = -1;

	if (!task)
		return -1;
	task->of_metrics = use == KP_USE_METRICS;
	task->stacks = attr->callStack || blocked;
	task->blocked = blocked ? kp_blocked_new(strcmp(attr->evtList[0], "cpu-clock") == 0) : NULL;
	if (blocked && !task->blocked)
		kp_fail(COMMON_ERR_NOMEM, "out of memory");
	else if ((type == SPE_SAMPLING ? open_spe(task, attr) : open_task(task, attr)) == SUCCESS)
		pd = kp_task_add(task);
	if (pd < 0)
		kp_task_put(task);
	return pd;
}

static int open_with(enum PmuTaskType type, const struct PmuAttr *attr, enum kp_use use)
{
	struct kp_origin *origin = new_origin(type, attr);
	int pd = origin ? kp_open(origin, type, attr, use) : -1;

	kp_origin_unref(origin);
	return pd;
}

/* The events of a task with blockedSample: time on the CPU, and switches to other threads. */
static int open_blocked(const struct PmuAttr *wanted)
{
	static char cycles[] = "cycles", clock[] = "cpu-clock", switches[] = "context-switches";
	struct EvtAttr rates[] = {{.groupId = -1}, {.groupId = -1, .period = 1}};
	char *events[] = {cycles, switches};
	struct PmuAttr attr = *wanted;
	struct perf_event_attr probe = {.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.size = sizeof(probe)};
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true, .any_cpu = true};
	struct attar_target *self;
	struct attar_counter *counter = NULL;

	if (attar_target_new(&opts, &self) == 0 &&
		attar_counter_open(self, &probe, cycles, ATTAR_COUNTER_DEGRADE, &counter) < 0) {
		events[0] = clock;
		kp_warn(LIBPERF_WARN_REPLACED, "there is no counter of cycles: cpu-clock is used");
	}
	attar_counter_close(counter);
	attar_target_free(self);
	attr.evtList = events;
	attr.numEvt = attr.numEvtAttr = 2;
	attr.evtAttr = rates;
	return open_with(SAMPLING, &attr, KP_USE_BLOCKED);
}

int PmuOpen(enum PmuTaskType type, struct PmuAttr *attr)
{
	int pd;

	kp_begin();
	if (kp_check(type, attr) != SUCCESS)
		return -1;
	pd = attr->blockedSample && type == SAMPLING ? open_blocked(attr)
						     : open_with(type, attr, KP_USE_EVENTS);
	if (pd > 0) {
		kp_warn_ignored(type, attr);
		kp_succeed();
	}
	return pd;
}

static int enable(struct kp_task *task)
{
	int r;

	pthread_mutex_lock(&task->lock);
	r = kp_task_enable(task);
	pthread_mutex_unlock(&task->lock);
	return r;
}

static int disable(struct kp_task *task)
{
	int r;

	pthread_mutex_lock(&task->lock);
	r = kp_task_disable(task);
	pthread_mutex_unlock(&task->lock);
	return r;
}

int PmuEnable(int pd)
{
	return kp_task_call(pd, KP_KIND_PMU, kp_task_enable);
}

int PmuDisable(int pd)
{
	return kp_task_call(pd, KP_KIND_PMU, kp_task_disable);
}

/* The task's lock is held. */
static int read_list(struct kp_task *task, struct kp_list **ret_list)
{
	struct kp_list *list = task->pending ? task->pending : kp_list_new(task->origin);
	int r;

	task->pending = NULL;
	if (!list)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	r = task->type == COUNTING   ? kp_count_read(task, list)
	    : task->type == SAMPLING ? kp_sample_read(task, list)
				     : kp_spe_read(task, list);
	if (r == SUCCESS)
		*ret_list = list;
	else
		kp_list_free(list);
	return r;
}

int PmuRead(int pd, struct PmuData **data)
{
	struct kp_list *list = NULL;
	struct kp_task *task;
	int r, n;

	kp_begin();
	if (!data)
		return kp_error(LIBPERF_ERR_NULL_POINTER, "PmuRead(): pmuData is NULL");
	*data = NULL;
	task = kp_task_get(pd, KP_KIND_PMU);
	if (!task)
		return -1;
	pthread_mutex_lock(&task->lock);
	r = read_list(task, &list);
	if (task->type == SAMPLING)
		task->lost = kp_sample_warn(task);
	pthread_mutex_unlock(&task->lock);
	kp_task_put(task);
	if (r != SUCCESS)
		return -1;
	n = (int)list->n;
	*data = kp_list_publish(list);
	return n;
}

/* closes: also a PmuCollect() that has not begun to wait. */
static void stop(int pd, bool closes)
{
	struct kp_task *task = kp_task_get(pd, KP_KIND_PMU);

	if (task && closes)
		__atomic_store_n(&task->closing, 1, __ATOMIC_RELAXED);
	if (task)
		eventfd_write(task->stop_fd, 1);
	kp_task_put(task);
}

void PmuClose(int pd)
{
	kp_begin();
	stop(pd, true);
	kp_task_remove(pd, KP_KIND_PMU);
}

void PmuStop(int pd)
{
	kp_begin();
	stop(pd, false);
}

void PmuExit(int pd)
{
	struct kp_task *task;

	kp_begin();
	task = kp_task_get(pd, KP_KIND_PMU);
	if (task)
		__atomic_store_n(&task->origin->exiting, 1, __ATOMIC_RELAXED);
	kp_task_put(task);
}

/* ---- collecting ---- */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Moves samples out of the rings, so that these do not fill up. */
static int drain(struct kp_task *task)
{
	int r = SUCCESS;

	pthread_mutex_lock(&task->lock);
	if (task->type != COUNTING) {
		struct kp_list *list = NULL;

		r = read_list(task, &list);
		task->pending = list;
	}
	pthread_mutex_unlock(&task->lock);
	return r;
}

static bool has_ended(struct kp_task *task)
{
	bool ended;

	pthread_mutex_lock(&task->lock);
	ended = attar_target_ended(task->target);
	pthread_mutex_unlock(&task->lock);
	return ended;
}

static bool all_ended(struct kp_task *const *tasks, unsigned n)
{
	bool ended = true;

	for (unsigned i = 0; i < n; i++)
		ended &= has_ended(tasks[i]);
	return ended;
}

/* Waits until a task is stopped; 1: it was, 0: after the timeout, or a process has ended. */
static int wait_for_stop(struct kp_task *const *tasks, unsigned n, int timeout_ms)
{
	struct pollfd *fds = calloc(n * 2, sizeof(*fds));
	int stopped = 0;

	if (!fds)
		return 1;
	for (unsigned i = 0; i < n; i++) {
		fds[i] = (struct pollfd){.fd = tasks[i]->stop_fd, .events = POLLIN};
		fds[n + i] =
			(struct pollfd){.fd = attar_target_fd(tasks[i]->target), .events = POLLIN};
	}
	poll(fds, n * 2, timeout_ms);
	for (unsigned i = 0; i < n; i++)
		stopped |= (fds[i].revents & POLLIN) ||
			   __atomic_load_n(&tasks[i]->closing, __ATOMIC_RELAXED);
	free(fds);
	return stopped;
}

static int collect(struct kp_task *const *tasks, unsigned n, int ms, unsigned interval)
{
	int64_t end = now_ms() + ms;
	bool over = false;
	int r = SUCCESS;

	while (!over && r == SUCCESS) {
		int64_t left = ms < 0 ? interval : end - now_ms();

		if (left > (int64_t)interval)
			left = interval;
		over = left <= 0 || wait_for_stop(tasks, n, (int)left) ||
		       (ms < 0 && all_ended(tasks, n));
		for (unsigned i = 0; i < n && r == SUCCESS; i++)
			r = drain(tasks[i]);
	}
	return r;
}

/* PmuRead() warns of the same losses again: it returns what is left. */
static void warn_of_losses(struct kp_task *task)
{
	pthread_mutex_lock(&task->lock);
	kp_sample_warn(task);
	pthread_mutex_unlock(&task->lock);
}

static int collect_tasks(struct kp_task *const *tasks, unsigned n, int ms, unsigned interval)
{
	int r = SUCCESS;
	eventfd_t stops;

	for (unsigned i = 0; i < n; i++)
		if (ms < 0 && !tasks[i]->has_pids)
			return kp_fail(LIBPERF_ERR_INVALID_TIME,
				"milliseconds is -1, and the task %d has no processes that end",
				tasks[i]->pd);
	for (unsigned i = 0; i < n && r == SUCCESS; i++) {
		eventfd_read(tasks[i]->stop_fd, &stops);
		r = enable(tasks[i]);
	}
	if (r == SUCCESS)
		r = collect(tasks, n, ms, interval);
	for (unsigned i = 0; i < n && r == SUCCESS; i++)
		r = disable(tasks[i]);
	for (unsigned i = 0; i < n && r == SUCCESS; i++)
		if (tasks[i]->type == SAMPLING)
			warn_of_losses(tasks[i]);
	return r;
}

static int collect_pds(const int *pds, unsigned n, int ms, unsigned interval)
{
	struct kp_task **tasks = calloc(n, sizeof(*tasks));
	int r = tasks ? SUCCESS : kp_fail(COMMON_ERR_NOMEM, "out of memory");

	for (unsigned i = 0; i < n && r == SUCCESS; i++) {
		tasks[i] = kp_task_get(pds[i], KP_KIND_PMU);
		r = tasks[i] ? SUCCESS : Perrorno();
	}
	if (r == SUCCESS)
		r = collect_tasks(tasks, n, ms, interval);
	for (unsigned i = 0; i < n && tasks; i++)
		kp_task_put(tasks[i]);
	free(tasks);
	return r;
}

int PmuCollect(int pd, int milliseconds, unsigned interval)
{
	kp_begin();
	if (milliseconds < -1)
		return kp_fail(LIBPERF_ERR_INVALID_TIME,
			"PmuCollect(): milliseconds is %d; use -1 or more", milliseconds);
	if (interval < SHORTEST_INTERVAL)
		return kp_fail(LIBPERF_ERR_INVALID_TIME,
			"PmuCollect(): interval is %u; use %d or more", interval,
			SHORTEST_INTERVAL);
	return collect_pds(&pd, 1, milliseconds, interval);
}

int PmuCollectV(int *pds, unsigned len, int milliseconds)
{
	kp_begin();
	if (!pds || len == 0)
		return kp_fail(LIBPERF_ERR_INVALID_PD, "PmuCollectV(): there are no tasks");
	if (milliseconds < -1)
		return kp_fail(LIBPERF_ERR_INVALID_TIME,
			"PmuCollectV(): milliseconds is %d; use -1 or more", milliseconds);
	return collect_pds(pds, len, milliseconds, SHORTEST_INTERVAL);
}
