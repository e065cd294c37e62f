/* SPDX-License-Identifier: MIT */
/* The lists of open starts. */
#include "stats/pairs.h"

static uint32_t *tasks_of(struct attar_pairs *p, uint64_t task)
{
	return &p->tasks[base_hash64(task) % PAIRS_TASKS];
}

static void insert_by_age(struct attar_pairs *p, struct open_start *s, uint32_t number)
{
	struct open_start *newest = pairs_at(p, p->newest);

	s->older = p->newest;
	s->newer = 0;
	p->newest = number;
	if (newest)
		newest->newer = number;
	else
		p->oldest = number;
}

static void remove_by_age(struct attar_pairs *p, const struct open_start *s)
{
	struct open_start *older = pairs_at(p, s->older), *newer = pairs_at(p, s->newer);

	*(older ? &older->newer : &p->oldest) = s->newer;
	*(newer ? &newer->older : &p->newest) = s->older;
}

static void insert_by_task(struct attar_pairs *p, struct open_start *s, uint32_t number)
{
	uint32_t *first = tasks_of(p, s->start.task);
	struct open_start *next = pairs_at(p, *first);

	s->previous = 0;
	s->next = *first;
	*first = number;
	if (next)
		next->previous = number;
}

static void remove_by_task(struct attar_pairs *p, const struct open_start *s)
{
	struct open_start *previous = pairs_at(p, s->previous), *next = pairs_at(p, s->next);

	*(previous ? &previous->next : tasks_of(p, s->start.task)) = s->next;
	if (next)
		next->previous = s->previous;
}

static void insert_by_key(
	struct attar_pairs *p, struct open_start *s, struct open_start *below, uint32_t number)
{
	if (!below) {
		keyed_link(&p->keyed, s);
		return;
	}
	s->below = pairs_number(below);
	s->start.depth = below->start.depth + 1;
	below->above = number;
	keyed_relink(&p->keyed, below, s);
}

static void remove_by_key(struct attar_pairs *p, struct open_start *s)
{
	struct open_start *below = pairs_at(p, s->below), *above = pairs_at(p, s->above);

	if (below)
		below->above = s->above;
	if (above)
		above->below = s->below;
	else if (below)
		keyed_relink(&p->keyed, s, below);
	else
		keyed_unlink(&p->keyed, s);
	for (; above; above = pairs_at(p, above->above))
		above->start.depth--;
}

void pairs_insert(struct attar_pairs *p, struct open_start *s, struct open_start *below)
{
	uint32_t number = pairs_number(s);

	insert_by_key(p, s, below, number);
	insert_by_age(p, s, number);
	if (s->start.task != ATTAR_NO_TASK)
		insert_by_task(p, s, number);
}

void pairs_remove(struct attar_pairs *p, struct open_start *s)
{
	remove_by_key(p, s);
	remove_by_age(p, s);
	if (s->start.task != ATTAR_NO_TASK)
		remove_by_task(p, s);
	keyed_release(&p->keyed, s);
}
