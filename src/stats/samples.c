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

/* The slot of a pair, or the free one where it belongs. */
static uint32_t *slot_of(const struct samples *s, uint64_t key)
{
	size_t mask = s->n_slots - 1, i = base_hash64(key) & mask;

	while (s->slots[i] && s->pairs.at[s->slots[i] - 1].key != key)
		i = (i + 1) & mask;
	return &s->slots[i];
}

static int samples_grow(struct samples *s)
{
	size_t n = s->n_slots ? s->n_slots * 2 : 64;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return base_oom();
	free(s->slots);
	s->slots = slots;
	s->n_slots = n;
	for (size_t i = 0; i < s->pairs.n; i++)
		*slot_of(s, s->pairs.at[i].key) = (uint32_t)i + 1;
	return 0;
}

int samples_add(struct samples *s, uint32_t task, uint32_t stack, uint64_t weight)
{
	uint64_t key = (uint64_t)task << 32 | stack;
	uint32_t *slot;

	s->total += weight;
	if ((s->pairs.n + 1) * 2 > s->n_slots && samples_grow(s) < 0)
		return -ENOMEM;
	slot = slot_of(s, key);
	if (!*slot && s->pairs.n >= SAMPLES_PAIRS_MAX && stack != STACKS_FULL) {
		s->refused += weight;
		key = (uint64_t)task << 32 | STACKS_FULL;
		slot = slot_of(s, key);
	}
	if (likely(*slot)) {
		s->pairs.at[*slot - 1].weight += weight;
		return 0;
	}
	if (vec_push(&s->pairs, (struct samples_pair){.key = key, .weight = weight}) < 0)
		return -ENOMEM;
	*slot = (uint32_t)s->pairs.n;
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
	if (s->slots)
		memset(s->slots, 0, s->n_slots * sizeof(*s->slots));
	s->pairs.n = 0;
	s->total = s->refused = 0;
}

void samples_done(struct samples *s)
{
	vec_done(&s->pairs);
	free(s->slots);
	s->slots = NULL;
	s->n_slots = 0;
	s->total = s->refused = 0;
}
