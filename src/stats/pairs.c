/* SPDX-License-Identifier: MIT */
/* Matching of start and end events. */
#include "stats/pairs.h"

/* Another task: the key was reused, and what is open is of a task that has exited. */
static bool is_reused(
	const struct attar_pairs *p, const struct open_start *top, const struct attar_stamp *at)
{
	return p->opts.flags & ATTAR_PAIRS_SAME_TASK && top->start.task != at->task &&
	       top->start.task != ATTAR_NO_TASK && at->task != ATTAR_NO_TASK;
}

static void drop_key(struct attar_pairs *p, struct open_start *top, enum attar_unpaired reason)
{
	while (top) {
		struct open_start *below = top->below;

		pairs_drop(p, top, reason);
		top = below;
	}
}

/* The top of the key's stack, or NULL; drops that of a task that has exited. */
static inline struct open_start *find(struct attar_pairs *p, const struct keyed_key *key,
	const struct attar_stamp *at, uint32_t *ret_slot)
{
	struct open_start *top = keyed_find_slot(&p->keyed, key, ret_slot);

	if (unlikely(top && is_reused(p, top, at))) {
		drop_key(p, top, ATTAR_UNPAIRED_EXITED);
		return NULL;
	}
	return top;
}

/* The reason not to open a start on top of `top`, or ATTAR_UNPAIRED_REASONS. */
static enum attar_unpaired refuse(
	const struct attar_pairs *p, struct open_start *top, const struct attar_stamp *at)
{
	if (unlikely(at->time < windows_end(&p->windows, at->cpu)))
		return ATTAR_UNPAIRED_LOST;
	if (top && p->opts.policy == ATTAR_PAIRS_FIRST)
		return ATTAR_UNPAIRED_REPEATED;
	if (top && p->opts.policy == ATTAR_PAIRS_NESTED &&
		top->start.depth + 1 >= p->opts.depth_max) {
		top->skipped++;
		return ATTAR_UNPAIRED_DEEP;
	}
	return ATTAR_UNPAIRED_REASONS;
}

static struct open_start *new_start(struct attar_pairs *p, const struct keyed_key *key)
{
	struct open_start *s;

	if (unlikely(keyed_is_full(&p->keyed)))
		pairs_drop(p, p->oldest, ATTAR_UNPAIRED_EVICTED);
	s = keyed_new(&p->keyed, key);
	if (unlikely(!s))
		p->stats.unpaired[ATTAR_UNPAIRED_EVICTED]++;
	return s;
}

static inline struct attar_start *start(
	struct attar_pairs *p, const struct keyed_key *key, const struct attar_stamp *at)
{
	uint32_t slot;
	struct open_start *top = find(p, key, at, &slot), *s;
	enum attar_unpaired reason = refuse(p, top, at);

	p->stats.starts++;
	if (unlikely(reason != ATTAR_UNPAIRED_REASONS)) {
		p->stats.unpaired[reason]++;
		return NULL;
	}
	if (top && p->opts.policy == ATTAR_PAIRS_REPLACE)
		pairs_drop(p, top, ATTAR_UNPAIRED_REPLACED);
	s = new_start(p, key);
	if (unlikely(!s))
		return NULL;
	s->start.time = at->time;
	s->start.task = at->task;
	s->start.cpu = at->cpu;
	s->start.depth = 0;
	s->start.key = keyed_bytes(&p->keyed, s);
	s->start.key_size = key->size;
	s->start.payload = s + 1;
	s->below = s->above = NULL;
	s->skipped = 0;
	memset(s->start.payload, 0, p->keyed.size - sizeof(*s));
	/* the eviction may have removed the top */
	pairs_insert(p, s, top ? keyed_find(&p->keyed, key) : NULL);
	return &s->start;
}

static const struct attar_start *no_start(struct attar_pairs *p, enum attar_unpaired reason)
{
	p->stats.unpaired[reason]++;
	return NULL;
}

static inline const struct attar_start *end(
	struct attar_pairs *p, const struct keyed_key *key, const struct attar_stamp *at)
{
	uint32_t slot;
	struct open_start *top = find(p, key, at, &slot);

	p->stats.ends++;
	if (unlikely(!top))
		return no_start(p, windows_end(&p->windows, at->cpu) ? ATTAR_UNPAIRED_END_LOST
								     : ATTAR_UNPAIRED_END);
	if (unlikely(top->skipped)) {
		top->skipped--;
		return no_start(p, ATTAR_UNPAIRED_END_DEEP);
	}
	if (unlikely(at->time < top->start.time)) {
		pairs_drop(p, top, ATTAR_UNPAIRED_BACKWARD);
		return no_start(p, ATTAR_UNPAIRED_END_BACKWARD);
	}
	p->stats.pairs++;
	if (unlikely(top->below)) {
		pairs_remove(p, top);
	} else {
		keyed_unlink_slot(&p->keyed, slot);
		pairs_release(p, top);
	}
	return &top->start;
}

struct attar_start *attar_pairs_start(
	struct attar_pairs *pairs, const void *key, size_t key_size, const struct attar_stamp *at)
{
	struct keyed_key k = keyed_key(&pairs->keyed, key, MIN(key_size, pairs->keyed.key_max));

	return start(pairs, &k, at);
}

struct attar_start *attar_pairs_start_u64(
	struct attar_pairs *pairs, uint64_t key, const struct attar_stamp *at)
{
	struct keyed_key k = keyed_number(&key);

	return start(pairs, &k, at);
}

const struct attar_start *attar_pairs_end(
	struct attar_pairs *pairs, const void *key, size_t key_size, const struct attar_stamp *at)
{
	struct keyed_key k = keyed_key(&pairs->keyed, key, MIN(key_size, pairs->keyed.key_max));

	return end(pairs, &k, at);
}

const struct attar_start *attar_pairs_end_u64(
	struct attar_pairs *pairs, uint64_t key, const struct attar_stamp *at)
{
	struct keyed_key k = keyed_number(&key);

	return end(pairs, &k, at);
}
