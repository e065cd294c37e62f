/* SPDX-License-Identifier: MIT */
#include "stats/samples.h"

/* The first task of the table is for everybody that finds it full. */
int stack_space_init(struct stack_space *space)
{
	*space = (struct stack_space){.last_key = UINT64_MAX};
	stacks_init(&space->stacks, 0);
	return vec_push(&space->tasks, (struct task){.comm = "other tasks"});
}

void stack_space_done(struct stack_space *space)
{
	stacks_done(&space->stacks);
	vec_done(&space->tasks);
	map_done(&space->task_of);
}

static uint32_t add_task(struct stack_space *space, const struct attar_thread *thread, uint64_t key)
{
	struct task t = {.pid = thread->process->pid, .tid = thread->tid, .comm = thread->comm};

	if (space->tasks.n >= TASKS_MAX || vec_push(&space->tasks, t) < 0)
		return 0;
	if (map_put(&space->task_of, key, space->tasks.n - 1) < 0)
		return 0;
	return (uint32_t)(space->tasks.n - 1);
}

uint32_t stack_space_task(struct stack_space *space, const struct attar_thread *thread)
{
	uint64_t key = base_hash64((uintptr_t)thread->comm) ^ thread->serial, *found;

	if (likely(key == space->last_key))
		return space->last_task;
	found = map_get(&space->task_of, key);
	space->last_key = key;
	return space->last_task = found ? (uint32_t)*found : add_task(space, thread, key);
}

int samples_add(struct samples *s, uint32_t task, uint32_t stack, uint64_t weight)
{
	uint64_t key = (uint64_t)task << 32 | stack, *found = map_get(&s->weights, key);

	s->total += weight;
	if (likely(found)) {
		*found += weight;
		return 0;
	}
	return map_put(&s->weights, key, weight) < 0 ? base_oom() : 0;
}

int samples_merge(struct samples *to, const struct samples *from)
{
	map_each (&from->weights, it) {
		int r = samples_add(to, (uint32_t)(it->key >> 32), (uint32_t)it->key, it->value);

		if (r < 0)
			return r;
	}
	return 0;
}

void samples_reset(struct samples *s)
{
	map_reset(&s->weights);
	s->total = 0;
}

void samples_done(struct samples *s)
{
	map_done(&s->weights);
	s->total = 0;
}
