/* SPDX-License-Identifier: MIT */
/*
 * The open starts of pairs, see attar/pairs.h. Each is in three lists: by age, by the hash of its
 * task, and the stack of its key, whose top is the entry that is found by the key.
 */
#ifndef STATS_PAIRS_H
#define STATS_PAIRS_H

#include "attar/pairs.h"
#include "stats/keyed.h"
#include "stats/loss_windows.h"

enum { PAIRS_TASK_BITS = 10, PAIRS_TASKS = 1 << PAIRS_TASK_BITS };

struct open_start {
	struct attar_start start;
	struct open_start *below, *above; /* of the same key */
	struct open_start *older, *newer;
	struct open_start *previous, *next; /* of the same hash of the task */
	uint32_t skipped;                   /* starts above the top that were not opened */
};

struct attar_pairs {
	struct keyed keyed; /* of struct open_start and its payload */
	struct attar_pairs_opts opts;
	struct windows windows;
	struct open_start *oldest, *newest;
	struct attar_pairs_stats stats, previous; /* until now; until the last interval */
	struct open_start *tasks[PAIRS_TASKS];
};

/* The first open start of the tasks with the same hash. */
static inline struct open_start **pairs_tasks(struct attar_pairs *p, uint64_t task)
{
	return &p->tasks[(task * 0x9e3779b97f4a7c15) >> (64 - PAIRS_TASK_BITS)];
}

static inline void pairs_insert_by_age(struct attar_pairs *p, struct open_start *s)
{
	s->older = p->newest;
	s->newer = NULL;
	*(p->newest ? &p->newest->newer : &p->oldest) = s;
	p->newest = s;
}

static inline void pairs_remove_by_age(struct attar_pairs *p, const struct open_start *s)
{
	*(s->older ? &s->older->newer : &p->oldest) = s->newer;
	*(s->newer ? &s->newer->older : &p->newest) = s->older;
}

static inline void pairs_insert_by_task(struct attar_pairs *p, struct open_start *s)
{
	struct open_start **first = pairs_tasks(p, s->start.task);

	s->previous = NULL;
	s->next = *first;
	if (*first)
		(*first)->previous = s;
	*first = s;
}

static inline void pairs_remove_by_task(struct attar_pairs *p, const struct open_start *s)
{
	*(s->previous ? &s->previous->next : pairs_tasks(p, s->start.task)) = s->next;
	if (s->next)
		s->next->previous = s->previous;
}

/* Puts a start on top of `below`, the present top of its key. */
void pairs_push(struct attar_pairs *p, struct open_start *s, struct open_start *below);

/* Adds a start to all lists: on top of `below`, or as the only one of its key (NULL). */
static inline void pairs_insert(
	struct attar_pairs *p, struct open_start *s, struct open_start *below)
{
	if (unlikely(below))
		pairs_push(p, s, below);
	else
		keyed_link(&p->keyed, s);
	pairs_insert_by_age(p, s);
	if (s->start.task != ATTAR_NO_TASK)
		pairs_insert_by_task(p, s);
}

/* Releases a start that is not found by its key any more; its contents stay until the next one. */
static inline void pairs_release(struct attar_pairs *p, struct open_start *s)
{
	pairs_remove_by_age(p, s);
	if (s->start.task != ATTAR_NO_TASK)
		pairs_remove_by_task(p, s);
	keyed_release(&p->keyed, s);
}

/* Removes a start from all lists and releases it. */
void pairs_remove(struct attar_pairs *p, struct open_start *s);

/* Removes it, and counts why. */
static inline void pairs_drop(
	struct attar_pairs *p, struct open_start *s, enum attar_unpaired reason)
{
	p->stats.unpaired[reason]++;
	pairs_remove(p, s);
}

#endif
