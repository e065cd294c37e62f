/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "error.h"
#include "forks.h"
#include "spe.h"
#include "task.h"

enum {
	SLOTS = 1024,
	GENERATIONS = (1 << 20) - 1, /* of a slot, from 1 on: pds are positive */
};

static struct {
	struct kp_task *task;
	unsigned generation;
} table[SLOTS];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

struct kp_task *kp_task_new(enum kp_kind kind, enum PmuTaskType type, struct kp_origin *origin)
{
	struct kp_task *task = calloc(1, sizeof(*task));

	if (!task) {
		kp_fail(COMMON_ERR_NOMEM, "out of memory");
		return NULL;
	}
	task->refs = 1;
	task->kind = kind;
	task->type = type;
	task->origin = kp_origin_ref(origin);
	pthread_mutex_init(&task->lock, NULL);
	task->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (task->stop_fd < 0) {
		kp_fail(LIBPERF_ERR_TOO_MANY_FD, "eventfd(): %m");
		kp_task_put(task);
		return NULL;
	}
	return task;
}

/* Frees a counter; its group is freed with the last member, which the caller frees first. */
static void close_counter(struct kp_counter *c)
{
	if (c->group && c->member == 0)
		attar_group_close(c->group);
	else if (!c->group)
		attar_counter_close(c->counter);
	attar_target_free(c->target);
	free(c->instances);
	free(c->before);
	free(c->now);
}

static void task_free(struct kp_task *task)
{
	kp_forks_free(task->forks);
	if (task->free_own)
		task->free_own(task->own);
	pthread_mutex_lock(&task->origin->lock);
	attar_stream_free(task->stream);
	pthread_mutex_unlock(&task->origin->lock);
	kp_blocked_free(task->blocked);
	kp_list_free(task->pending);
	for (size_t i = task->n_counters; i-- > 0;)
		close_counter(&task->counters[i]);
	free(task->counters);
	free(task->threads);
	free(task->cgroups);
	free(task->events);
	attar_target_free(task->target);
	kp_origin_unref(task->origin);
	if (task->stop_fd >= 0)
		close(task->stop_fd);
	pthread_mutex_destroy(&task->lock);
	free(task);
}

void kp_task_put(struct kp_task *task)
{
	if (task && __atomic_sub_fetch(&task->refs, 1, __ATOMIC_ACQ_REL) == 0)
		task_free(task);
}

int kp_task_add(struct kp_task *task)
{
	unsigned slot = 0;

	pthread_mutex_lock(&table_lock);
	while (slot < SLOTS && table[slot].task)
		slot++;
	if (slot < SLOTS) {
		table[slot].generation = table[slot].generation % GENERATIONS + 1;
		table[slot].task = task;
		task->pd = (int)((table[slot].generation - 1) * SLOTS + slot + 1);
	}
	pthread_mutex_unlock(&table_lock);
	if (slot == SLOTS)
		return kp_error(LIBPERF_ERR_NO_AVAIL_PD,
			"%d tasks are open, the most that are possible: close some", SLOTS);
	return task->pd;
}

/* The table's lock is held. */
static struct kp_task **find(int pd, enum kp_kind kind)
{
	struct kp_task **at = pd > 0 ? &table[(pd - 1) % SLOTS].task : NULL;

	return at && *at && (*at)->pd == pd && (*at)->kind == kind ? at : NULL;
}

static void fail_pd(int pd)
{
	kp_fail(LIBPERF_ERR_INVALID_PD, "there is no open task %d of this kind", pd);
}

struct kp_task *kp_task_get(int pd, enum kp_kind kind)
{
	struct kp_task **at, *task = NULL;

	pthread_mutex_lock(&table_lock);
	at = find(pd, kind);
	if (at) {
		task = *at;
		__atomic_add_fetch(&task->refs, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&table_lock);
	if (!task)
		fail_pd(pd);
	return task;
}

void kp_task_remove(int pd, enum kp_kind kind)
{
	struct kp_task **at, *task = NULL;

	pthread_mutex_lock(&table_lock);
	at = find(pd, kind);
	if (at) {
		task = *at;
		*at = NULL;
	}
	pthread_mutex_unlock(&table_lock);
	if (!task)
		fail_pd(pd);
	kp_task_put(task);
}

int kp_task_enable(struct kp_task *task)
{
	switch (task->type) {
	case COUNTING:
		return kp_count_enable(task);
	case SPE_SAMPLING:
		return kp_spe_enable(task);
	default:
		return kp_sample_enable(task);
	}
}

int kp_task_disable(struct kp_task *task)
{
	for (size_t i = 0; i < task->n_counters; i++) {
		struct kp_counter *c = &task->counters[i];
		int r = c->group && c->member > 0 ? 0
			: c->group                ? attar_group_disable(c->group)
						  : attar_counter_disable(c->counter);

		if (r < 0)
			return kp_fail(LIBPERF_ERR_FAILED_PMU_DISABLE, "%s", attar_error());
	}
	if (task->type == SPE_SAMPLING)
		kp_spe_disabled(task);
	return kp_forks_switch(task->forks, false);
}

int kp_task_call(int pd, enum kp_kind kind, int (*call)(struct kp_task *task))
{
	struct kp_task *task;
	int r;

	kp_begin();
	task = kp_task_get(pd, kind);
	if (!task)
		return Perrorno();
	pthread_mutex_lock(&task->lock);
	r = call(task);
	pthread_mutex_unlock(&task->lock);
	kp_task_put(task);
	return r;
}
