/* SPDX-License-Identifier: MIT */
/*
 * The open starts of pairs, see attar/pairs.h. Each is in three lists: by age, by the hash of its
 * task, and the stack of its key, whose top is the entry that is found by the key.
 */
#ifndef STATS_PAIRS_H
#define STATS_PAIRS_H

#include "attar/pairs.h"
#include "stats/keyed.h"
#include "stats/windows.h"

enum { PAIRS_TASKS = 1024 }; /* lists by the hash of the task */

/* Numbers of other entries are index + 1; 0: none. */
struct open_start {
	struct attar_start start;
	uint32_t below, above; /* of the same key */
	uint32_t older, newer;
	uint32_t previous, next; /* of the same hash of the task */
	uint32_t skipped;        /* starts above the top that were not opened */
};

struct attar_pairs {
	struct keyed keyed; /* of struct open_start and its payload */
	struct attar_pairs_opts opts;
	struct windows windows;
	uint32_t oldest, newest;
	struct attar_pairs_stats stats, previous; /* until now; until the last interval */
	uint32_t tasks[PAIRS_TASKS];
};

static inline struct open_start *pairs_at(const struct attar_pairs *p, uint32_t number)
{
	return number ? keyed_at(&p->keyed, number - 1) : NULL;
}

static inline uint32_t pairs_number(const struct open_start *s)
{
	return keyed_head(s)->index + 1;
}

/* Adds a start to all lists: on top of `below`, the present top of its key, or NULL. */
void pairs_insert(struct attar_pairs *p, struct open_start *s, struct open_start *below);

/* Removes a start from all lists and releases it; its contents stay until the next insertion. */
void pairs_remove(struct attar_pairs *p, struct open_start *s);

/* Removes it, and counts why. */
static inline void pairs_drop(
	struct attar_pairs *p, struct open_start *s, enum attar_unpaired reason)
{
	p->stats.unpaired[reason]++;
	pairs_remove(p, s);
}

#endif
