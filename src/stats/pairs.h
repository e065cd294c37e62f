/* SPDX-License-Identifier: MIT */
/*
 * The open starts of pairs, see attar/pairs.h. Each is in three lists: by age, by the hash of its
 * task, and the stack of its key, whose top is the entry that is found by the key.
 *
 * The end of a pair usually follows soon: the newest tops are found by `recent`. A top is linked in
 * the table of keyed.h only when another one takes its place there. The entry of a start that ends
 * in `recent` is kept there, and in the lists by age and of its task, for the next start in that
 * place.
 */
#ifndef STATS_PAIRS_H
#define STATS_PAIRS_H

#include "attar/pairs.h"
#include "stats/keyed.h"
#include "stats/loss_windows.h"

enum {
	PAIRS_TASK_BITS = 10,
	PAIRS_TASKS = 1 << PAIRS_TASK_BITS,
	PAIRS_RECENT_BITS = 8,
	PAIRS_RECENT = 1 << PAIRS_RECENT_BITS,
};

struct open_start {
	struct attar_start start;
	struct open_start *below, *above; /* of the same key */
	struct open_start *older, *newer;
	struct open_start *previous, *next; /* of the same hash of the task */
	uint32_t skipped;                   /* starts above the top that were not opened */
	bool is_linked;                     /* of a top: it is linked, not in `recent` */
	bool is_kept;                       /* it has ended */
};

struct attar_pairs {
	struct keyed keyed; /* of struct open_start and its payload */
	struct attar_pairs_opts opts;
	struct windows windows;
	struct open_start *oldest, *newest;
	struct attar_pairs_stats stats, previous; /* until now; until the last interval */
	struct open_start *tasks[PAIRS_TASKS];
	struct open_start *recent[PAIRS_RECENT]; /* tops by the hash of the key; NULL: none */
	uint32_t n_kept;
	uint32_t forgotten; /* index in recent, see forget_one() */
};

static inline size_t pairs_open(const struct attar_pairs *p)
{
	return p->keyed.n - p->n_kept;
}

static inline struct open_start **pairs_recent(struct attar_pairs *p, uint64_t number)
{
	return &p->recent[(number * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - PAIRS_RECENT_BITS)];
}

/* The linked top of the key's stack, or NULL. */
struct open_start *pairs_find_linked(struct attar_pairs *p, struct keyed_key key);

/* The top of the key's stack, or NULL. */
static inline struct open_start *pairs_find(struct attar_pairs *p, const struct keyed_key *key)
{
	struct open_start *s = *pairs_recent(p, key->number);

	if (likely(s && keyed_is(&p->keyed, s, key)))
		return s->is_kept ? NULL : s;
	return p->keyed.slots.n ? pairs_find_linked(p, *key) : NULL;
}

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

/* Releases the entry of an ended start. */
void pairs_forget(struct attar_pairs *p, struct open_start *s);

/* Makes a start the top of its key. */
static inline void pairs_set_top(struct attar_pairs *p, struct open_start *s)
{
	struct open_start **recent = pairs_recent(p, keyed_head(s)->number), *other = *recent;

	if (unlikely(other && other->is_kept)) {
		pairs_forget(p, other);
	} else if (unlikely(other)) {
		keyed_link(&p->keyed, other);
		other->is_linked = true;
	}
	*recent = s;
	s->is_linked = false;
}

/* The top of a key is not found any more. */
static inline void pairs_unset_top(struct attar_pairs *p, struct open_start *s)
{
	if (unlikely(s->is_linked))
		keyed_unlink(&p->keyed, s);
	else
		*pairs_recent(p, keyed_head(s)->number) = NULL;
}

/* Puts a start on top of `below`, the present top of its key. */
void pairs_push(struct attar_pairs *p, struct open_start *s, struct open_start *below);

/* Ends the only start of a key. */
static inline void pairs_keep(struct attar_pairs *p, struct open_start *s)
{
	s->is_kept = true;
	p->n_kept++;
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
