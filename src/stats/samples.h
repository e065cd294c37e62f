/* SPDX-License-Identifier: MIT */
/*
 * How often each stack of each task was seen. Two of them can be merged, so that intervals add up
 * to a run.
 *
 * Bounds, beyond which every sample is still counted:
 * - TASKS_THREADS tasks are threads of their own; further ones share a task with others of their name;
 * - TASKS_MAX tasks in all; the rest are "other tasks";
 * - stacks by their table, and SAMPLES_PAIRS_MAX pairs of a task and a stack: further ones are counted under
 *   their task without a stack (STACKS_FULL).
 */
#ifndef STATS_SAMPLES_H
#define STATS_SAMPLES_H

#include "attar/stream.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "stats/stacks.h"

enum { TASKS_OTHER = 0, TASKS_THREADS = 12288, TASKS_MAX = 16384, SAMPLES_PAIRS_MAX = 1 << 19 };

/* A thread under one name: it is another task after exec or a change of its name. */
struct task {
	pid_t pid, tid;   /* -1: of several, or not known any more */
	const char *comm; /* interned in the space */
};

/* The tasks and stacks that several struct samples share. */
struct stack_space {
	struct stacks stacks;
	VEC(struct task) tasks; /* number TASKS_OTHER stands for all that found the table full */
	struct intern comms;
	struct map task_of; /* the hash of its name, with or without its thread's serial -> index */
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
	uint64_t refused; /* of total: the weight that SAMPLES_PAIRS_MAX left without a stack */
};

int samples_add(struct samples *s, uint32_t task, uint32_t stack, uint64_t weight);
int samples_merge(struct samples *to, const struct samples *from);
void samples_reset(struct samples *s);
void samples_done(struct samples *s);

#endif
