/* SPDX-License-Identifier: MIT */
/*
 * How often each stack of each task was seen. Two of them can be merged, so that intervals add up to a run.
 * Bounds: stacks by their table, tasks by TASKS_MAX; what comes after is counted under "other tasks" or the
 * empty stack.
 */
#ifndef STATS_SAMPLES_H
#define STATS_SAMPLES_H

#include "attar/stream.h"
#include "base/map.h"
#include "base/vec.h"
#include "stats/stacks.h"

enum { TASKS_MAX = 16384 };

/* A thread under one name: it is another task after exec or a change of its name. */
struct task {
	pid_t pid, tid;
	const char *comm; /* interned by the stream: lives as long as the run */
};

/* The tasks and stacks that several struct samples share. */
struct stack_space {
	struct stacks stacks;
	VEC(struct task) tasks;
	struct map task_of; /* thread serial, hashed with its name -> index */
	uint64_t last_key;
	uint32_t last_task;
};

int stack_space_init(struct stack_space *space);
void stack_space_done(struct stack_space *space);

/* The index of this thread under its present name. */
uint32_t stack_space_task(struct stack_space *space, const struct attar_thread *thread);

struct samples {
	struct map weights; /* task << 32 | stack -> weight */
	uint64_t total;
};

int samples_add(struct samples *s, uint32_t task, uint32_t stack, uint64_t weight);
int samples_merge(struct samples *to, const struct samples *from);
void samples_reset(struct samples *s);
void samples_done(struct samples *s);

#endif
