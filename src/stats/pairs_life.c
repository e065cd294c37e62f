/* SPDX-License-Identifier: MIT */
/* Pairs: creation, losses, exits, statistics. */
#include "stats/pairs.h"

#include "attar/private/pairs.h"
#include "base/check_arg.h"
#include "base/option_struct.h"

enum { OPEN_DEFAULT = 1 << 16, OPEN_MIN = 8, OPEN_LIMIT = 1 << 24, DEPTH_DEFAULT = 16 };
enum { PAYLOAD_MAX = 1 << 16 };

static const char *const texts[ATTAR_UNPAIRED_REASONS] = {
	[ATTAR_UNPAIRED_OPEN] = "no end until the end of the measurement",
	[ATTAR_UNPAIRED_REPLACED] = "replaced by a newer start",
	[ATTAR_UNPAIRED_REPEATED] = "ignored because another start was open",
	[ATTAR_UNPAIRED_DEEP] = "nested too deeply",
	[ATTAR_UNPAIRED_LOST] = "open while events were lost",
	[ATTAR_UNPAIRED_EXITED] = "thread exited before the end",
	[ATTAR_UNPAIRED_EVICTED] = "evicted because too many starts were open",
	[ATTAR_UNPAIRED_DROPPED] = "dropped",
	[ATTAR_UNPAIRED_BACKWARD] = "later than the end",
	[ATTAR_UNPAIRED_END] = "no start",
	[ATTAR_UNPAIRED_END_LOST] = "no start, after events were lost",
	[ATTAR_UNPAIRED_END_DEEP] = "nested too deeply",
	[ATTAR_UNPAIRED_END_BACKWARD] = "earlier than the start",
};

const char *attar_unpaired_text(enum attar_unpaired reason)
{
	return (unsigned)reason < ATTAR_UNPAIRED_REASONS ? texts[reason] : "";
}

static int check_opts(const struct attar_pairs_opts *o)
{
	CHECK_BELOW(o->policy, "opts.policy", ATTAR_PAIRS_NESTED + 1);
	CHECK_FLAGS(o->flags, ATTAR_PAIRS_SAME_TASK | ATTAR_PAIRS_ONE_CPU);
	CHECK_BELOW(o->payload_size, "opts.payload_size", PAYLOAD_MAX + 1);
	CHECK_BELOW(o->key_max, "opts.key_max", ATTAR_KEY_MAX + 1);
	CHECK_BELOW(o->open_max, "opts.open_max", OPEN_LIMIT + 1);
	if (o->open_max < OPEN_MIN)
		return attar_fail(-EINVAL, "opts.open_max is %zu, at least %d is required",
			o->open_max, OPEN_MIN);
	return 0;
}

int attar_pairs_new(const struct attar_pairs_opts *opts, struct attar_pairs **ret_pairs)
{
	CHECK_ARG(ret_pairs, "ret_pairs");

	struct attar_pairs_opts o = {0};
	struct attar_pairs *p;
	int r = option_struct_take(&o, sizeof(o), opts);

	if (r < 0)
		return r;
	o.open_max = o.open_max ? o.open_max : OPEN_DEFAULT;
	o.depth_max = o.depth_max ? o.depth_max : DEPTH_DEFAULT;
	r = check_opts(&o);
	if (r < 0)
		return r;
	p = calloc(1, sizeof(*p));
	if (!p)
		return base_oom();
	p->opts = o;
	p->windows.one_cpu = o.flags & ATTAR_PAIRS_ONE_CPU;
	keyed_init(&p->keyed, sizeof(struct open_start) + o.payload_size, o.key_max,
		o.open_max + PAIRS_RECENT);
	*ret_pairs = p;
	return 0;
}

struct attar_pairs *attar_pairs_free(struct attar_pairs *pairs)
{
	if (!pairs)
		return NULL;
	keyed_done(&pairs->keyed);
	windows_done(&pairs->windows);
	free(pairs);
	return NULL;
}

/* Releases the entries that are kept: all others are of open starts. */
static void forget_all(struct attar_pairs *p)
{
	for (size_t i = 0; i < PAIRS_RECENT; i++)
		if (p->recent[i] && p->recent[i]->is_kept)
			pairs_forget(p, p->recent[i]);
}

void attar_pairs_lost(struct attar_pairs *pairs, int cpu, uint64_t from, uint64_t to)
{
	CHECK_ARG_OR(pairs, "pairs", );

	if (from > to)
		return;
	windows_add(&pairs->windows, cpu, to);
	forget_all(pairs);
	for (struct open_start *s = pairs->oldest, *newer; s; s = newer) {
		newer = s->newer;
		if (s->start.time < windows_end(&pairs->windows, s->start.cpu))
			pairs_drop(pairs, s, ATTAR_UNPAIRED_LOST);
	}
}

void attar_pairs_exit(struct attar_pairs *pairs, uint64_t task)
{
	CHECK_ARG_OR(pairs, "pairs", );

	if (task == ATTAR_NO_TASK)
		return;
	for (struct open_start *s = *pairs_tasks(pairs, task), *next; s; s = next) {
		next = s->next;
		if (s->start.task == task && !s->is_kept)
			pairs_drop(pairs, s, ATTAR_UNPAIRED_EXITED);
	}
}

size_t attar_pairs_drop(struct attar_pairs *pairs, const void *key, size_t key_size)
{
	CHECK_ARG_OR(pairs, "pairs", 0);
	CHECK_ARG_OR(key, "key", 0);

	struct keyed_key k = keyed_key(&pairs->keyed, key, MIN(key_size, pairs->keyed.key_max));
	struct open_start *s = pairs_find(pairs, &k), *below;
	size_t n = 0;

	for (; s; s = below, n++) {
		below = s->below;
		pairs_drop(pairs, s, ATTAR_UNPAIRED_DROPPED);
	}
	return n;
}

void attar_pairs_close(struct attar_pairs *pairs)
{
	CHECK_ARG_OR(pairs, "pairs", );

	forget_all(pairs);
	while (pairs->oldest)
		pairs_drop(pairs, pairs->oldest, ATTAR_UNPAIRED_OPEN);
}

const struct attar_start *attar_pairs_next_open(
	const struct attar_pairs *pairs, const struct attar_start *start)
{
	CHECK_ARG_OR(pairs, "pairs", NULL);

	const struct open_start *s = (const struct open_start *)start;

	s = s ? s->newer : pairs->oldest;
	while (s && s->is_kept)
		s = s->newer;
	return s ? &s->start : NULL;
}

void attar_pairs_get_stats(const struct attar_pairs *pairs, struct attar_pairs_stats *ret_stats)
{
	CHECK_ARG_OR(pairs, "pairs", );
	CHECK_ARG_OR(ret_stats, "ret_stats", );

	*ret_stats = pairs->stats;
	ret_stats->open = pairs_open(pairs);
	ret_stats->memory = sizeof(*pairs) + keyed_memory(&pairs->keyed);
}

void attar_pairs_get_interval(struct attar_pairs *pairs, struct attar_pairs_stats *ret_stats)
{
	CHECK_ARG_OR(pairs, "pairs", );
	CHECK_ARG_OR(ret_stats, "ret_stats", );

	const struct attar_pairs_stats *previous = &pairs->previous;

	attar_pairs_get_stats(pairs, ret_stats);
	ret_stats->starts -= previous->starts;
	ret_stats->ends -= previous->ends;
	ret_stats->pairs -= previous->pairs;
	for (int i = 0; i < ATTAR_UNPAIRED_REASONS; i++)
		ret_stats->unpaired[i] -= previous->unpaired[i];
	pairs->previous = pairs->stats;
}

void pairs_stats_add(struct attar_pairs_stats *to, const struct attar_pairs_stats *from)
{
	CHECK_ARG_OR(to, "to", );
	CHECK_ARG_OR(from, "from", );

	to->starts += from->starts;
	to->ends += from->ends;
	to->pairs += from->pairs;
	to->open += from->open;
	to->memory += from->memory;
	for (int i = 0; i < ATTAR_UNPAIRED_REASONS; i++)
		to->unpaired[i] += from->unpaired[i];
}
