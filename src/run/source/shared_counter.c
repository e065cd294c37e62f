/* SPDX-License-Identifier: MIT */
#include "run/source/shared_counter.h"

#include "base/check_arg.h"
#include "event/sample_attr.h"
#include "perf/modes.h"
#include "run/deliver.h"
#include "run/run.h"

/* Whether each sample of the counter can be given to several sources. */
static bool can_share(const struct attar_run *run, const struct source *s)
{
	return s->spec && s->spec->kind != ATTAR_EVENT_USER && s->attr.sample_period == 1 &&
	       !s->attr.freq && !s->usdt && !s->timer && !s->host && !s->is_fallback_allowed &&
	       !s->is_internal && !run->records && !run->rings.overwritten;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool shared_is_same_event(const struct source *a, const struct source *b)
{
	return a->pushes == b->pushes && a->all_cpus == b->all_cpus &&
	       !memcmp(&a->attr, &b->attr, sizeof(a->attr)) && is_same_text(a->filter, b->filter) &&
	       event_has_same_cpus(source_spec(a), source_spec(b));
}

/* ---- the same software event in several modes ---- */

static bool differ_in_modes_only(const struct source *a, const struct source *b)
{
	struct source like = *b;

	like.attr = a->attr;
	return memcmp(&a->attr, &b->attr, sizeof(a->attr)) != 0 &&
	       modes_alone_differ(&a->attr, &b->attr) && shared_is_same_event(a, &like);
}

/* Both are opened in the modes of either, with the samples of their own ones. */
static void widen(struct source *a, struct source *b)
{
	a->modes = a->modes ? a->modes : modes_of(&a->attr);
	b->modes = b->modes ? b->modes : modes_of(&b->attr);
	modes_join(&a->attr, &b->attr);
}

static bool widen_any(struct attar_run *run)
{
	bool any = false;

	vec_each (&run->sources.list, b)
		for (struct source *a = run->sources.list.at; a < b; a++) {
			if (!can_share(run, a) || !can_share(run, b) ||
				!modes_share_ids(&a->attr, &b->attr) || !differ_in_modes_only(a, b))
				continue;
			widen(a, b);
			any = true;
		}
	return any;
}

void shared_prepare(struct attar_run *run)
{
	while (widen_any(run))
		;
}

/* Those that cannot share a counter, such as with different periods, or in recordings. */
static void warn_of_common_ids(const struct attar_run *run)
{
	vec_each (&run->sources.list, b)
		for (struct source *a = run->sources.list.at; a < b; a++) {
			if (!shared_counter(run, a) || !shared_counter(run, b) ||
				shared_counter(run, a) == shared_counter(run, b) ||
				!modes_share_ids(&a->attr, &b->attr))
				continue;
			log_warn(MODES_COMMON_IDS "%s", CLIP(a->name), CLIP(b->name),
				run->records ? ", without :u and :k, which select samples "
					       "of the recording with --input"
					     : "");
		}
}

/* ---- sharing ---- */

/* The source whose counter s can use; NULL: none. */
static struct source *owner_of(const struct attar_run *run, const struct source *s)
{
	if (!can_share(run, s))
		return NULL;
	for (struct source *it = run->sources.list.at; it < s; it++)
		if (it->counter && can_share(run, it) && shared_is_same_event(it, s))
			return it;
	return NULL;
}

bool shared_is_open(const struct attar_run *run, const struct source *s)
{
	return owner_of(run, s) != NULL;
}

/* Opens a source without the others if the common counter was reduced to other modes. */
static int check_modes(struct attar_run *run, const struct source *s)
{
	const struct attar_counter *counter = shared_counter(run, s);
	struct source alone = {.name = s->name, .attr = s->attr, .spec = s->spec};
	int r;

	if (!counter || !s->modes ||
		modes_fit(s->modes, modes_of(attar_counter_attr(counter))) != FIT_NONE)
		return 0;
	modes_select(&alone.attr, s->modes);
	r = run_open_source(run, &alone);
	run_close_source(&alone);
	return r;
}

int shared_link(struct attar_run *run)
{
	int r = 0;

	vec_each (&run->sources.list, s) {
		struct source *last = s->counter ? NULL : owner_of(run, s);

		if (!last)
			continue;
		s->owner = (uint32_t)(last - run->sources.list.at);
		s->is_shared = true;
		while (last->next_shared)
			last = &run->sources.list.at[last->next_shared];
		last->next_shared = (uint32_t)(s - run->sources.list.at);
	}
	if (!run->sources.has_warned)
		warn_of_common_ids(run);
	run->sources.has_warned = true;
	for (size_t i = 0; r == 0 && i < run->sources.list.n; i++)
		r = check_modes(run, &run->sources.list.at[i]);
	return r;
}

static uint32_t owner_number(const struct attar_run *run, const struct source *s)
{
	return s->is_shared ? s->owner : (uint32_t)(s - run->sources.list.at);
}

struct attar_counter *shared_counter(const struct attar_run *run, const struct source *s)
{
	return run->sources.list.at[owner_number(run, s)].counter;
}

static int deliver_to(struct attar_run *run, struct source *s, struct attar_event *ev)
{
	if (s->is_stopped || !modes_have(s->modes, ev->record->misc))
		return 0;
	ev->counter = (uint32_t)(s - run->sources.list.at);
	if (s->keep)
		return run_user_deliver(run, s, ev);
	run->notes.delivered++;
	ev->fields = s->fields;
	return s->fn(run, run->self, ev);
}

int shared_deliver(struct attar_run *run, uint32_t number, struct attar_event *ev)
{
	const uint64_t delivered = run->notes.delivered, dropped = run->notes.dropped;
	int r;

	do {
		r = deliver_to(run, &run->sources.list.at[number], ev);
		number = run->sources.list.at[number].next_shared;
	} while (r >= 0 && number && !run_has_enough(run));
	run->notes.dropped = dropped + (run->notes.delivered == delivered);
	return r;
}

/* Stops the counter when all its sources are. */
static int enable(struct attar_run *run, struct source *s, bool on)
{
	const struct source *it = &run->sources.list.at[owner_number(run, s)];
	bool any = false;

	s->is_stopped = !on;
	for (;; it = &run->sources.list.at[it->next_shared]) {
		any |= !it->is_stopped;
		if (!it->next_shared)
			break;
	}
	return (any ? attar_counter_enable : attar_counter_disable)(shared_counter(run, s));
}

int attar_run_source_enable(struct attar_run *run, uint32_t i, bool on)
{
	CHECK_OWN(run, "run");

	struct source *s = i < run->sources.list.n ? &run->sources.list.at[i] : NULL;

	if (!s || !shared_counter(run, s))
		return attar_fail(-EINVAL, "attar_run_source_enable(): source %u is not open", i);
	parts_toggled(run, i, on);
	return enable(run, s, on);
}
