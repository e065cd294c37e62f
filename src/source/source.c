/* SPDX-License-Identifier: MIT */
#include "source/source.h"

#include "event/sample_attr.h"
#include "event/skipped_events.h"
#include "source/programs.h"
#include "source/share.h"
#include "stream/stream.h"

int source_attr(const struct attar_event_spec *spec, struct perf_event_attr *attr)
{
	int r = attar_event_spec_attr(spec, attr, sizeof(*attr));

	if (spec->kind == ATTAR_EVENT_USER && spec->type == PERF_TYPE_SOFTWARE)
		attr->exclude_kernel = attr->exclude_hv = 1; /* never fires: needs no permission */
	event_sample_rate(spec, attr);
	return r;
}

int sources_add(struct source_set *set, struct source *s)
{
	if (s->name && vec_push(&set->list, *s) == 0)
		return 0;
	source_free(set, s);
	return base_oom();
}

/* ---- opening ---- */

int source_open(struct source_set *set, struct source *s)
{
	int r = set->ops->open(set->ctx, s);

	return r == 0 ? source_apply_filter(s) : r;
}

static int open_next(struct source_set *set, struct source *s, struct skipped_events *left)
{
	int r;

	r = source_filter_place(set, s);
	if (r < 0)
		return r;
	if (source_shares(set, s))
		return 0;
	r = set->ops->opening ? set->ops->opening(set->ctx, (size_t)(s - set->list.at)) : 0;
	if (r < 0)
		return r;
	r = source_open(set, s);
	s->is_left_out = r < 0 && skipped_events_allows(s->spec, r);
	return skipped_events_add(left, s->spec, r);
}

/* Removes the sources that are left out. */
static void drop_refused(struct source_set *set)
{
	uint32_t n = 0;

	vec_each (&set->list, s) {
		if (s->is_left_out) {
			source_free(set, s);
			programs_renumber(set, n);
		} else {
			set->list.at[n++] = *s;
		}
	}
	set->list.n = n;
}

int sources_open(struct source_set *set)
{
	struct skipped_events left = {0};
	int r = 0, ended;

	sources_join(set);
	for (size_t i = 0; r == 0 && i < set->list.n; i++)
		r = open_next(set, &set->list.at[i], &left);
	ended = skipped_events_end(&left);
	if (r < 0 || ended < 0)
		return r < 0 ? r : ended;
	drop_refused(set);
	return sources_link(set);
}

/* Samples have the number of the source, and some sources have no counter. */
static void number_counters(const struct source_set *set)
{
	size_t n = 0;

	vec_each (&set->list, s)
		if (s->counter)
			set->stream->numbers[n++] = (uint32_t)(s - set->list.at);
}

int sources_stream(struct source_set *set, struct attar_target *target, const counter_list *more,
	struct attar_symbols *symbols, struct attar_stream_opts *opts,
	struct attar_stream **ret_stream)
{
	counter_list all = {0};
	int r = 0;

	opts->shm_source = set->programs.events.shm;
	vec_each (&set->list, s)
		if (s->counter && vec_push(&all, s->counter) < 0)
			r = base_oom();
	vec_each (more, counter)
		if (vec_push(&all, *counter) < 0)
			r = base_oom();
	if (r == 0 && all.n)
		r = attar_stream_live(target, all.at, all.n, symbols, opts, ret_stream);
	if (r == 0 && all.n) {
		set->stream = *ret_stream;
		number_counters(set);
	}
	vec_done(&all);
	return r;
}

/* ---- closing ---- */

static void source_close(const struct source_set *set, struct source *s)
{
	if (set->ops->closing && s->use)
		set->ops->closing(s);
	s->counter = attar_counter_close(s->counter);
	s->shared = (struct source_sharing){0};
}

void sources_close(struct source_set *set)
{
	set->stream = NULL;
	programs_close(set);
	vec_each (&set->list, s)
		source_close(set, s);
}

void source_free(const struct source_set *set, struct source *s)
{
	source_close(set, s);
	if (set->ops->free && s->use)
		set->ops->free(s);
	usdt_free(s->usdt);
	filter_free(s->keep);
	filter_free(s->spare);
	free(s->name);
	free(s->filter);
}

void sources_drop_last(struct source_set *set)
{
	source_free(set, &set->list.at[--set->list.n]);
}

void sources_done(struct source_set *set)
{
	while (set->list.n)
		sources_drop_last(set);
	vec_done(&set->list);
	programs_done(set);
	vec_each (&set->lists, list)
		attar_event_list_free(*list);
	vec_done(&set->lists);
}
