/* SPDX-License-Identifier: MIT */
#include "stats/samples.h"

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
	intern_done(&space->comms);
	map_done(&space->task_of);
}

static uint32_t add_task(struct stack_space *space, struct task t, uint64_t key)
{
	t.comm = intern_text(&space->comms, t.comm);
	if (!t.comm || vec_push(&space->tasks, t) < 0)
		return TASKS_OTHER;
	if (map_put(&space->task_of, key, space->tasks.n - 1) < 0) {
		space->tasks.n--;
		return TASKS_OTHER;
	}
	return (uint32_t)(space->tasks.n - 1);
}

/* The idle task keeps pid and tid 0. */
static uint32_t task_by_name(struct stack_space *space, const struct attar_thread *thread)
{
	pid_t number = thread->tid ? -1 : 0;
	struct task t = {.pid = number, .tid = number, .comm = thread->comm};
	uint64_t key = thread->comm_hash, *found = map_get(&space->task_of, key);

	if (found)
		return (uint32_t)*found;
	return space->tasks.n < TASKS_MAX ? add_task(space, t, key) : TASKS_OTHER;
}

static uint32_t new_task(struct stack_space *space, const struct attar_thread *thread, uint64_t key)
{
	struct task t = {.pid = thread->process->pid, .tid = thread->tid, .comm = thread->comm};

	return space->tasks.n < TASKS_THREADS ? add_task(space, t, key)
					      : task_by_name(space, thread);
}

uint32_t stack_space_task(struct stack_space *space, const struct attar_thread *thread)
{
	/* + 1: serials begin at 0, and the hash alone is the key of a name */
	uint64_t key = thread->comm_hash ^ (thread->serial + 1), *found;

	if (likely(key == space->last_key))
		return space->last_task;
	found = map_get(&space->task_of, key);
	space->last_key = key;
	return space->last_task = found ? (uint32_t)*found : new_task(space, thread, key);
}

int samples_add(struct samples *s, uint32_t task, uint32_t stack, uint64_t weight)
{
	uint64_t key = (uint64_t)task << 32 | stack, *found = map_get(&s->weights, key);

	s->total += weight;
	if (likely(found)) {
		*found += weight;
		return 0;
	}
	if (s->weights.n >= SAMPLES_PAIRS_MAX && stack != STACKS_FULL) {
		s->refused += weight;
		key = (uint64_t)task << 32 | STACKS_FULL;
		found = map_get(&s->weights, key);
		weight += found ? *found : 0;
	}
	if ((!found && vec_push(&s->keys, key) < 0) || map_put(&s->weights, key, weight) < 0)
		return base_oom();
	return 0;
}

int samples_merge(struct samples *to, const struct samples *from)
{
	to->refused += from->refused;
	vec_each (&from->keys, key) {
		int r = samples_add(
			to, (uint32_t)(*key >> 32), (uint32_t)*key, samples_weight(from, *key));

		if (r < 0)
			return r;
	}
	return 0;
}

int samples_move(struct samples *to, struct samples *from)
{
	struct samples empty = *to;
	int r = 0;

	if (to->keys.n) {
		r = samples_merge(to, from);
		samples_reset(from);
	} else {
		*to = *from;
		*from = empty;
	}
	return r;
}

void samples_reset(struct samples *s)
{
	map_reset(&s->weights);
	s->keys.n = 0;
	s->total = s->refused = 0;
}

void samples_done(struct samples *s)
{
	map_done(&s->weights);
	vec_done(&s->keys);
	s->total = s->refused = 0;
}
