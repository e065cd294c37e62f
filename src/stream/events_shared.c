/* SPDX-License-Identifier: MIT */
/*
 * The same software event several times, such as "page-faults,page-faults:u": the kernel gives
 * samples of one the id of the other (modes_share_ids()). They are opened once, in the modes of all
 * of them, and each source has the samples in its own. The first has the counter and is the head of
 * a list of the others.
 */
#include "base/base.h"
#include "event/sample_attr.h"
#include "perf/modes.h"
#include "stream/events_internal.h"

/* Whether the samples of one can be those of the other. */
static bool have_common_ids(const struct event_source *a, const struct event_source *b)
{
	return a->is_filled && b->is_filled && modes_share_ids(&a->attr, &b->attr);
}

/* Each sample of one counter stands for one occurrence, whatever its source. */
static bool can_share(const struct event_source *a, const struct event_source *b)
{
	return have_common_ids(a, b) && a->attr.sample_period == 1 && !a->attr.freq &&
	       modes_alone_differ(&a->attr, &b->attr) && event_has_same_cpus(a->spec, b->spec);
}

static bool is_same(const struct event_source *a, const struct event_source *b)
{
	return can_share(a, b) && !memcmp(&a->attr, &b->attr, sizeof(a->attr));
}

static bool join_any(struct stream_events *e)
{
	bool any = false;

	vec_each (&e->sources, b)
		for (struct event_source *a = e->sources.at; a < b; a++) {
			if (!can_share(a, b) || is_same(a, b))
				continue;
			a->modes = a->modes ? a->modes : modes_of(&a->attr);
			b->modes = b->modes ? b->modes : modes_of(&b->attr);
			modes_join(&a->attr, &b->attr);
			any = true;
		}
	return any;
}

void events_join(struct stream_events *e)
{
	vec_each (&e->sources, s)
		if (s->spec->type == PERF_TYPE_SOFTWARE && s->spec->kind != ATTAR_EVENT_USER)
			event_source_fill(e, s); /* opening reports errors */
	while (join_any(e))
		;
}

/* The first source that is the same as s; NULL: none. */
static struct event_source *owner_of(const struct stream_events *e, const struct event_source *s)
{
	for (struct event_source *it = e->sources.at; it < s; it++)
		if (it->counter && is_same(it, s))
			return it;
	return NULL;
}

bool event_source_shares(struct stream_events *e, struct event_source *s)
{
	s->is_shared = owner_of(e, s) != NULL;
	return s->is_shared;
}

static struct attar_counter *counter_of(const struct stream_events *e, const struct event_source *s)
{
	return s->is_shared ? owner_of(e, s)->counter : s->counter;
}

/* Those that cannot share a counter, such as with different periods. */
static void warn_of_common_ids(const struct stream_events *e)
{
	vec_each (&e->sources, b)
		for (const struct event_source *a = e->sources.at; a < b; a++)
			if (have_common_ids(a, b) && counter_of(e, a) != counter_of(e, b))
				log_warn(
					MODES_COMMON_IDS, CLIP(a->spec->name), CLIP(b->spec->name));
}

/* Opens a source without the others if the common counter was reduced to other modes. */
static int check_modes(struct stream_events *e, const struct event_source *s)
{
	const struct attar_counter *counter = counter_of(e, s);
	struct event_source alone = {.spec = s->spec, .attr = s->attr, .is_filled = true};
	int r;

	if (!s->modes || modes_fit(s->modes, modes_of(attar_counter_attr(counter))) != FIT_NONE)
		return 0;
	modes_select(&alone.attr, s->modes);
	r = event_source_open(e, &alone);
	attar_counter_close(alone.counter);
	return r;
}

int events_link(struct stream_events *e)
{
	int r = 0;

	vec_each (&e->sources, s) {
		struct event_source *last = s->is_shared ? owner_of(e, s) : NULL;

		if (!last)
			continue;
		while (last->next_shared)
			last = &e->sources.at[last->next_shared];
		last->next_shared = (uint32_t)(s - e->sources.at);
	}
	warn_of_common_ids(e);
	for (size_t i = 0; r == 0 && i < e->sources.n; i++)
		r = check_modes(e, &e->sources.at[i]);
	return r;
}
