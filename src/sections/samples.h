/* SPDX-License-Identifier: MIT */
/*
 * Weights by task and stack. Tables of intervals can be merged into the table of the run.
 *
 * Bounds; beyond them every sample is still counted:
 * - TASKS_THREADS tasks are single threads; further threads share a task with others of the same
 * name;
 * - TASKS_MAX tasks in total; all others are "other tasks";
 * - stacks: see stacks.h; SAMPLES_PAIRS_MAX pairs of task and stack: further samples are counted
 * for their task without a stack (STACKS_FULL).
 */
#ifndef SECTIONS_SAMPLES_H
#define SECTIONS_SAMPLES_H

#include "attar/stream.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/slots.h"
#include "base/vec.h"
#include "stats/stacks.h"

enum { TASKS_OTHER = 0, TASKS_THREADS = 12288, TASKS_MAX = 16384, SAMPLES_PAIRS_MAX = 1 << 19 };

/* A thread and its name: after an exec or a change of its name it is another task. */
struct task {
	pid_t pid, tid;   /* -1: several, or unknown */
	const char *comm; /* interned in the space */
	uint32_t group;   /* of stack_groups; 0: none, or there are none */
};

/* What tasks are in, such as containers: they are above the tasks in the tree of a report. */
struct stack_groups {
	/* The number of what a thread is in; called per event. NULL: there are no groups. */
	uint32_t (*number_of)(const void *ctx, int kind, const struct attar_thread *thread);
	const char *(*text_of)(const void *ctx, int kind, uint32_t number);
	const void *ctx;
	int kind;
	const char *none; /* the text of 0 */
};

/* Tasks and stacks shared by several struct samples. */
struct stack_space {
	struct stacks stacks;
	VEC(struct task) tasks; /* entry TASKS_OTHER: all threads beyond the bound */
	struct intern comms;
	struct stack_groups groups;
	struct map task_of; /* hash of the name, or of name, thread serial and group -> index */
	uint64_t last_key;
	uint32_t last_task;
};

int stack_space_init(struct stack_space *space);
void stack_space_done(struct stack_space *space);

/* The index of the task for this thread and its current name. */
uint32_t stack_space_task(struct stack_space *space, const struct attar_thread *thread);

struct samples_pair {
	uint64_t key; /* task << 32 | stack */
	uint64_t weight;
};

struct samples {
	VEC(struct samples_pair) pairs; /* the first one added first */
	struct slots slots;             /* index + 1 of each pair, by the hash of its key */
	uint64_t total;
	uint64_t refused; /* part of total without a stack because of SAMPLES_PAIRS_MAX */
};

int samples_add(struct samples *s, uint32_t task, uint32_t stack, uint64_t weight);
int samples_merge(struct samples *to, const struct samples *from);

/* Merges and empties from. */
int samples_move(struct samples *to, struct samples *from);
void samples_reset(struct samples *s);

void samples_done(struct samples *s);

#endif
