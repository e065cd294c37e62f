/* SPDX-License-Identifier: MIT */
#include "run/shared_counter.h"

#include "perf/modes.h"
#include "run/run.h"

/* Each sample of one counter is one of the run, whatever its source. */
static bool can_share(const struct attar_run *run, const struct source *s)
{
	return s->spec && s->spec->kind != ATTAR_EVENT_USER && s->attr.sample_period == 1 &&
	       !s->attr.freq && !s->usdt && !s->timer && !s->host && !s->is_fallback_allowed &&
	       !run->recorder.wanted && !run->flight.is_on;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Whether cpus= is the same; either may be NULL. */
static bool has_same_cpus(const struct attar_event_spec *a, const struct attar_event_spec *b)
{
	const size_t n = a ? a->n_only_cpus : 0;

	return n == (b ? b->n_only_cpus : 0) &&
	       (!n || !memcmp(a->only_cpus, b->only_cpus, n * sizeof(*a->only_cpus)));
}

bool shared_is_same_event(const struct source *a, const struct source *b)
{
	return a->pushes == b->pushes && a->all_cpus == b->all_cpus &&
	       !memcmp(&a->attr, &b->attr, sizeof(a->attr)) && is_same_text(a->filter, b->filter) &&
	       has_same_cpus(source_spec(a), source_spec(b));
}

/* ---- the same software event in several modes ---- */

static void copy_modes(
	struct perf_event_attr *attr, bool no_user, bool no_kernel, bool no_hypervisor)
{
	attr->exclude_user = no_user;
	attr->exclude_kernel = no_kernel;
	attr->exclude_hv = no_hypervisor;
}

static bool differ_in_modes_only(const struct source *a, const struct source *b)
{
	struct source like = *b;

	copy_modes(&like.attr, a->attr.exclude_user, a->attr.exclude_kernel, a->attr.exclude_hv);
	return memcmp(&a->attr, &b->attr, sizeof(a->attr)) != 0 && shared_is_same_event(a, &like);
}

/* Both are opened in the modes of either, with the samples of their own ones. */
static void widen(struct source *a, struct source *b)
{
	const bool no_user = a->attr.exclude_user && b->attr.exclude_user;
	const bool no_kernel = a->attr.exclude_kernel && b->attr.exclude_kernel;
	const bool no_hv = a->attr.exclude_hv && b->attr.exclude_hv;

	a->modes = a->modes ? a->modes : modes_of(&a->attr);
	b->modes = b->modes ? b->modes : modes_of(&b->attr);
	copy_modes(&a->attr, no_user, no_kernel, no_hv);
	copy_modes(&b->attr, no_user, no_kernel, no_hv);
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
			log_warn("'%s' and '%s' sample the same software event: the kernel can "
				 "give samples of one the id of the other, and then the counts of "
				 "both are wrong; sample one of them%s",
				CLIP(a->name), CLIP(b->name),
				run->recorder.wanted ? ", without :u and :k, which select samples "
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

void shared_link(struct attar_run *run)
{
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
	bool is_used;
	int r;

	if (run->overhead.selects)
		overhead_count(run, ev);
	do {
		r = deliver_to(run, &run->sources.list.at[number], ev);
		number = run->sources.list.at[number].next_shared;
	} while (r >= 0 && number);
	is_used = run->notes.delivered > delivered;
	run->notes.delivered = delivered + is_used;
	run->notes.dropped = dropped + !is_used;
	return r;
}

int shared_enable(struct attar_run *run, struct source *s, bool on)
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
