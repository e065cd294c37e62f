/* SPDX-License-Identifier: MIT */
/* Matching of start and end events. */
#include "attar/private/pairs.h"
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

/* The top of the key's stack, or NULL; drops the top of a task that has exited. */
static inline struct open_start *find(
	struct attar_pairs *p, const struct keyed_key *key, const struct attar_stamp *at)
{
	struct open_start *top = pairs_find(p, key);

	if (unlikely(top && is_reused(p, top, at))) {
		drop_key(p, top, ATTAR_UNPAIRED_EXITED);
		return NULL;
	}
	return top;
}

/* The reason not to open a start on top of `top`, or ATTAR_UNPAIRED_REASONS. */
static inline enum attar_unpaired refuse(
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

/* Releases one of the entries that are kept. */
static void forget_one(struct attar_pairs *p)
{
	struct open_start *s;

	do {
		s = p->recent[p->forgotten++ % PAIRS_RECENT];
	} while (!s || !s->is_kept);
	pairs_forget(p, s);
}

/* A start without time and payload, in the lists of ages and of its task. */
static __attribute__((noinline)) struct open_start *new_start(
	struct attar_pairs *p, struct keyed_key key, uint64_t task)
{
	struct open_start *s;

	if (p->n_kept && p->keyed.n >= PAIRS_RECENT && keyed_is_used_up(&p->keyed))
		forget_one(p);
	s = keyed_new(&p->keyed, &key);
	if (unlikely(!s)) {
		p->stats.unpaired[ATTAR_UNPAIRED_EVICTED]++;
		return NULL;
	}
	memset(s, 0, sizeof(*s));
	s->start.task = task;
	s->start.key = keyed_bytes(&p->keyed, s);
	s->start.key_size = key.size;
	s->start.payload = s + 1;
	pairs_insert_by_age(p, s);
	if (task != ATTAR_NO_TASK)
		pairs_insert_by_task(p, s);
	return s;
}

/* The same of a kept entry, whose key and task can be others. */
static inline void reuse(
	struct attar_pairs *p, struct open_start *s, const struct keyed_key *key, uint64_t task)
{
	p->n_kept--;
	s->is_kept = false;
	if (unlikely(!keyed_is(&p->keyed, s, key))) {
		keyed_set_key(&p->keyed, s, key);
		s->start.key_size = key->size;
	}
	if (likely(s->start.task == task))
		return;
	if (s->start.task != ATTAR_NO_TASK)
		pairs_remove_by_task(p, s);
	s->start.task = task;
	if (task != ATTAR_NO_TASK)
		pairs_insert_by_task(p, s);
}

/* Releases the kept entries before it. */
static struct open_start *oldest_open(struct attar_pairs *p)
{
	while (p->oldest->is_kept)
		pairs_forget(p, p->oldest);
	return p->oldest;
}

/* Opens a start for a key that has this top, NULL: none. */
static inline __attribute__((always_inline)) struct open_start *open_start(
	struct attar_pairs *p, const struct keyed_key *key, struct open_start *top, uint64_t task)
{
	struct open_start *s;

	if (unlikely(pairs_open(p) >= p->opts.open_max)) {
		pairs_drop(p, oldest_open(p), ATTAR_UNPAIRED_EVICTED);
		top = pairs_find(p, key);
	}
	s = *pairs_recent(p, key->number);
	if (likely(s && s->is_kept && !top)) {
		reuse(p, s, key, task);
		return s;
	}
	s = new_start(p, *key, task);
	if (unlikely(!s))
		return NULL;
	if (top)
		pairs_push(p, s, top);
	pairs_set_top(p, s);
	return s;
}

static __attribute__((noinline)) struct attar_start *clear_payload(
	struct open_start *s, size_t size)
{
	memset(s->start.payload, 0, size);
	return &s->start;
}

static inline struct attar_start *pairs_begin(
	struct attar_pairs *p, struct open_start *s, const struct attar_stamp *at)
{
	const size_t payload = p->keyed.size - sizeof(*s);

	if (unlikely(p->newest != s)) {
		pairs_remove_by_age(p, s);
		pairs_insert_by_age(p, s);
	}
	s->start.time = at->time;
	s->start.cpu = at->cpu;
	if (unlikely(payload != sizeof(uint64_t)))
		return clear_payload(s, payload);
	*(uint64_t *)s->start.payload = 0;
	return &s->start;
}

/* A start of a key that is_ready() does not hold for. */
static __attribute__((noinline)) struct attar_start *start_otherwise(
	struct attar_pairs *p, const struct keyed_key *key, const struct attar_stamp *at)
{
	struct open_start *top = find(p, key, at), *s;
	enum attar_unpaired reason = refuse(p, top, at);

	if (unlikely(reason != ATTAR_UNPAIRED_REASONS)) {
		p->stats.unpaired[reason]++;
		return NULL;
	}
	if (top && p->opts.policy == ATTAR_PAIRS_REPLACE) {
		pairs_drop(p, top, ATTAR_UNPAIRED_REPLACED);
		top = NULL;
	}
	s = open_start(p, key, top, at->task);
	return likely(s) ? pairs_begin(p, s, at) : NULL;
}

/* Whether the entry of this key is kept for this task, and nothing prevents a start in it. */
static inline bool is_ready(
	const struct attar_pairs *p, const struct open_start *s, const struct attar_stamp *at)
{
	return s->is_kept && s->start.task == at->task && pairs_open(p) < p->opts.open_max &&
	       at->time >= windows_end(&p->windows, at->cpu);
}

static inline struct attar_start *start_again(
	struct attar_pairs *p, struct open_start *s, const struct attar_stamp *at)
{
	s->is_kept = false;
	p->n_kept--;
	return pairs_begin(p, s, at);
}

static __attribute__((noinline)) const struct attar_start *no_start(
	struct attar_pairs *p, enum attar_unpaired reason)
{
	p->stats.unpaired[reason]++;
	return NULL;
}

/* The end of a key that is_usual() does not hold for. */
static __attribute__((noinline)) const struct attar_start *end_otherwise(
	struct attar_pairs *p, const struct keyed_key *key, const struct attar_stamp *at)
{
	struct open_start *top = find(p, key, at);

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
	if (top->below || top->is_linked)
		pairs_remove(p, top);
	else
		pairs_keep(p, top);
	return &top->start;
}

/* Whether the newest start of this key is open, the only one, and before this end. */
static inline bool is_usual(
	const struct attar_pairs *p, const struct open_start *s, const struct attar_stamp *at)
{
	return !s->is_kept && !s->skipped && !s->below && at->time >= s->start.time &&
	       !is_reused(p, s, at);
}

static inline const struct attar_start *end_usual(struct attar_pairs *p, struct open_start *s)
{
	p->stats.pairs++;
	pairs_keep(p, s);
	return &s->start;
}

struct attar_start *attar_pairs_start(
	struct attar_pairs *pairs, const void *key, size_t key_size, const struct attar_stamp *at)
{
	struct keyed_key k = keyed_key(&pairs->keyed, key, MIN(key_size, pairs->keyed.key_max));
	struct open_start *s = *pairs_recent(pairs, k.number);

	pairs->stats.starts++;
	if (likely(s && keyed_is(&pairs->keyed, s, &k) && is_ready(pairs, s, at)))
		return start_again(pairs, s, at);
	return start_otherwise(pairs, &k, at);
}

const struct attar_start *attar_pairs_end(
	struct attar_pairs *pairs, const void *key, size_t key_size, const struct attar_stamp *at)
{
	struct keyed_key k = keyed_key(&pairs->keyed, key, MIN(key_size, pairs->keyed.key_max));
	struct open_start *s = *pairs_recent(pairs, k.number);

	pairs->stats.ends++;
	if (likely(s && keyed_is(&pairs->keyed, s, &k) && is_usual(pairs, s, at)))
		return end_usual(pairs, s);
	return end_otherwise(pairs, &k, at);
}

const struct attar_start *pairs_find_open(
	const struct attar_pairs *pairs, const void *key, size_t key_size)
{
	struct attar_pairs *p = (struct attar_pairs *)pairs;
	struct keyed_key k = keyed_key(&p->keyed, key, MIN(key_size, p->keyed.key_max));
	struct open_start *top = pairs_find(p, &k);

	return top ? &top->start : NULL;
}

/* ---- the same for numbers, whose usual path has no struct keyed_key ---- */

static __attribute__((noinline)) struct attar_start *start_number(
	struct attar_pairs *p, uint64_t key, const struct attar_stamp *at)
{
	struct keyed_key k = keyed_number(&key);

	return start_otherwise(p, &k, at);
}

static __attribute__((noinline)) const struct attar_start *end_number(
	struct attar_pairs *p, uint64_t key, const struct attar_stamp *at)
{
	struct keyed_key k = keyed_number(&key);

	return end_otherwise(p, &k, at);
}

struct attar_start *attar_pairs_start_u64(
	struct attar_pairs *pairs, uint64_t key, const struct attar_stamp *at)
{
	struct open_start *s = *pairs_recent(pairs, key);

	pairs->stats.starts++;
	if (likely(s && keyed_is_number(s, key) && is_ready(pairs, s, at)))
		return start_again(pairs, s, at);
	return start_number(pairs, key, at);
}

const struct attar_start *attar_pairs_end_u64(
	struct attar_pairs *pairs, uint64_t key, const struct attar_stamp *at)
{
	struct open_start *s = *pairs_recent(pairs, key);

	pairs->stats.ends++;
	if (likely(s && keyed_is_number(s, key) && is_usual(pairs, s, at)))
		return end_usual(pairs, s);
	return end_number(pairs, key, at);
}
