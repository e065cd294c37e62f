/* SPDX-License-Identifier: MIT */
#include "sections/samples.h"

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

static uint64_t key_of_group(uint32_t group)
{
	return group * 0x9e3779b97f4a7c15ULL;
}

/* The idle task keeps pid and tid 0. */
static uint32_t task_by_name(
	struct stack_space *space, const struct attar_thread *thread, uint32_t group)
{
	pid_t number = thread->tid ? -1 : 0;
	struct task t = {.pid = number, .tid = number, .comm = thread->comm, .group = group};
	uint64_t key = thread->comm_hash ^ key_of_group(group),
		 *found = map_get(&space->task_of, key);

	if (found)
		return (uint32_t)*found;
	return space->tasks.n < TASKS_MAX ? add_task(space, t, key) : TASKS_OTHER;
}

static uint32_t new_task(
	struct stack_space *space, const struct attar_thread *thread, uint64_t key, uint32_t group)
{
	struct task t = {.pid = thread->process->pid,
		.tid = thread->tid,
		.comm = thread->comm,
		.group = group};

	return space->tasks.n < TASKS_THREADS ? add_task(space, t, key)
					      : task_by_name(space, thread, group);
}

uint32_t stack_space_task(struct stack_space *space, const struct attar_thread *thread)
{
	const struct stack_groups *groups = &space->groups;
	uint32_t group =
		groups->number_of ? groups->number_of(groups->ctx, groups->kind, thread) : 0;
	/* + 1: serials begin at 0, and the hash alone is the key of a name */
	uint64_t key = thread->comm_hash ^ (thread->serial + 1) ^ key_of_group(group), *found;

	if (likely(key == space->last_key))
		return space->last_task;
	found = map_get(&space->task_of, key);
	space->last_key = key;
	return space->last_task = found ? (uint32_t)*found : new_task(space, thread, key, group);
}

static uint32_t samples_hash(uint64_t key)
{
	return (uint32_t)base_hash64(key);
}

static struct samples_pair *samples_find(const struct samples *s, uint64_t key)
{
	slots_each (&s->slots, samples_hash(key), number)
		if (s->pairs.at[number - 1].key == key)
			return &s->pairs.at[number - 1];
	return NULL;
}

int samples_add(struct samples *s, uint32_t task, uint32_t stack, uint64_t weight)
{
	uint64_t key = (uint64_t)task << 32 | stack;
	struct samples_pair *pair = samples_find(s, key);

	s->total += weight;
	if (!pair && s->pairs.n >= SAMPLES_PAIRS_MAX && stack != STACKS_FULL) {
		s->refused += weight;
		key = (uint64_t)task << 32 | STACKS_FULL;
		pair = samples_find(s, key);
	}
	if (likely(pair)) {
		pair->weight += weight;
		return 0;
	}
	if (slots_make_room(&s->slots) < 0 ||
		vec_push(&s->pairs, (struct samples_pair){.key = key, .weight = weight}) < 0)
		return -ENOMEM;
	slots_put(&s->slots, (struct slot){samples_hash(key), (uint32_t)s->pairs.n});
	return 0;
}

int samples_merge(struct samples *to, const struct samples *from)
{
	to->refused += from->refused;
	vec_each (&from->pairs, it) {
		int r = samples_add(to, (uint32_t)(it->key >> 32), (uint32_t)it->key, it->weight);

		if (r < 0)
			return r;
	}
	return 0;
}

int samples_move(struct samples *to, struct samples *from)
{
	struct samples empty = *to;
	int r = 0;

	if (to->pairs.n) {
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
	slots_reset(&s->slots);
	s->pairs.n = 0;
	s->total = s->refused = 0;
}

void samples_done(struct samples *s)
{
	vec_done(&s->pairs);
	slots_done(&s->slots);
	s->total = s->refused = 0;
}
