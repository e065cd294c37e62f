/* SPDX-License-Identifier: MIT */
#include "source/share.h"

#include "base/base.h"
#include "perf/modes.h"

/* Each sample of the counter stands for one occurrence, whatever its source. */
bool source_is_shareable(const struct source_set *set, const struct source *s)
{
	return s->spec && s->spec->kind != ATTAR_EVENT_USER && s->attr.sample_period == 1 &&
	       !s->attr.freq && !s->usdt && !set->are_recorded;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool have_same_attr(const struct source *a, const struct source *b)
{
	return !memcmp(&a->attr, &b->attr, sizeof(a->attr));
}

/* Whether they can have one counter, if their attributes are the same. */
static bool can_share(const struct source_set *set, const struct source *a, const struct source *b)
{
	return source_is_shareable(set, a) && source_is_shareable(set, b) &&
	       is_same_text(a->filter, b->filter) && set->ops->can_share(set->ctx, a, b);
}

/* ---- the same software event in several modes ---- */

/* Both are opened in the modes of either, with the samples of their own ones. */
static void widen(struct source *a, struct source *b)
{
	a->modes = a->modes ? a->modes : modes_of(&a->attr);
	b->modes = b->modes ? b->modes : modes_of(&b->attr);
	modes_join(&a->attr, &b->attr);
}

static bool join_any(struct source_set *set)
{
	bool any = false;

	vec_each (&set->list, b)
		for (struct source *a = set->list.at; a < b; a++) {
			if (!modes_share_ids(&a->attr, &b->attr) || have_same_attr(a, b) ||
				!modes_alone_differ(&a->attr, &b->attr) || !can_share(set, a, b))
				continue;
			widen(a, b);
			any = true;
		}
	return any;
}

void sources_join(struct source_set *set)
{
	while (join_any(set))
		;
}

/* Those that cannot share a counter, such as with different periods, or in recordings. */
static void warn_of_common_ids(const struct source_set *set)
{
	vec_each (&set->list, b)
		for (const struct source *a = set->list.at; a < b; a++) {
			if (!source_counter(set, a) || !source_counter(set, b) ||
				source_counter(set, a) == source_counter(set, b) ||
				!modes_share_ids(&a->attr, &b->attr))
				continue;
			log_warn(MODES_COMMON_IDS "%s", CLIP(a->name), CLIP(b->name),
				set->are_recorded ? ", without :u and :k, which select samples "
						    "of the recording with --input"
						  : "");
		}
}

/* ---- sharing ---- */

/* The source whose counter s can use; NULL: none. */
static struct source *owner_of(const struct source_set *set, const struct source *s)
{
	if (!source_is_shareable(set, s))
		return NULL;
	for (struct source *it = set->list.at; it < s; it++)
		if (it->counter && have_same_attr(it, s) && can_share(set, it, s))
			return it;
	return NULL;
}

bool source_shares(const struct source_set *set, const struct source *s)
{
	return owner_of(set, s) != NULL;
}

/* Opens a source without the others if the common counter was reduced to other modes. */
static int check_modes(struct source_set *set, const struct source *s)
{
	const struct attar_counter *counter = source_counter(set, s);
	struct source alone = {.name = s->name, .spec = s->spec, .attr = s->attr, .use = s->use};
	int r;

	if (!counter || !s->modes ||
		modes_fit(s->modes, modes_of(attar_counter_attr(counter))) != FIT_NONE)
		return 0;
	modes_select(&alone.attr, s->modes);
	r = source_open(set, &alone);
	attar_counter_close(alone.counter);
	return r;
}

int sources_link(struct source_set *set)
{
	int r = 0;

	vec_each (&set->list, s) {
		struct source *last = s->counter ? NULL : owner_of(set, s);

		if (!last)
			continue;
		s->shared.owner = (uint32_t)(last - set->list.at);
		s->shared.is_on = true;
		while (last->shared.next)
			last = &set->list.at[last->shared.next];
		last->shared.next = (uint32_t)(s - set->list.at);
	}
	if (!set->has_warned)
		warn_of_common_ids(set);
	set->has_warned = true;
	for (size_t i = 0; r == 0 && i < set->list.n; i++)
		r = check_modes(set, &set->list.at[i]);
	return r;
}

uint32_t source_owner(const struct source_set *set, const struct source *s)
{
	return s->shared.is_on ? s->shared.owner : (uint32_t)(s - set->list.at);
}

struct attar_counter *source_counter(const struct source_set *set, const struct source *s)
{
	return set->list.at[source_owner(set, s)].counter;
}

bool sources_are_same(const struct source_set *set, const struct source *a, const struct source *b)
{
	return have_same_attr(a, b) && is_same_text(a->filter, b->filter) &&
	       set->ops->can_share(set->ctx, a, b);
}
