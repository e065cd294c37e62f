/* SPDX-License-Identifier: MIT */
/* Opens the counters of events. */
#include "base/base.h"
#include "base/file_limit.h"
#include "event/kernel_filter.h"
#include "event/sample_attr.h"
#include "event/skipped_events.h"
#include "perf/counter.h"
#include "perf/target.h"
#include "stream/events_internal.h"

enum { FREQ_DEFAULT = 4000 };

static void set_period(const struct stream_events *e, const struct attar_event_spec *spec,
	struct perf_event_attr *attr)
{
	if (event_sample_rate(spec, attr))
		return;
	if (event_is_each(spec)) {
		attr->sample_period = 1;
	} else {
		attr->freq = 1;
		attr->sample_freq = e->opts.freq ?: FREQ_DEFAULT;
	}
}

int event_source_fill(const struct stream_events *e, struct event_source *s)
{
	const struct attar_event_spec *spec = s->spec;
	struct perf_event_attr *attr = &s->attr;
	int r = s->is_filled ? 0 : attar_event_spec_attr(spec, attr, sizeof(*attr));

	if (r < 0 || s->is_filled)
		return r;
	s->is_filled = true;
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	if (e->flags & ATTAR_STREAM_STACKS || spec->stack)
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr->sample_max_stack = spec->max_stack;
	event_sample_attr(spec, attr);
	if (spec->kind == ATTAR_EVENT_USER && spec->type == PERF_TYPE_SOFTWARE)
		attr->exclude_kernel = attr->exclude_hv = 1; /* never fires: needs no permission */
	set_period(e, spec, attr);
	attar_stream_attr(attr, false);
	attr->enable_on_exec = e->target->by_exec;
	return 0;
}

static int set_filter(struct event_source *s)
{
	int r = s->in_kernel ? attar_counter_filter(s->counter, s->in_kernel) : 0;

	if (r != -EINVAL)
		return r;
	if (!s->spare)
		return filter_refused(s->spec, s->in_kernel);
	log_note("filter '%s' of '%s' runs in attar: the kernel rejected it", CLIP(s->spec->filter),
		CLIP(s->spec->name));
	s->keep = TAKE_PTR(s->spare);
	return 0;
}

int event_source_open(struct stream_events *e, struct event_source *s)
{
	const struct attar_event_spec *spec = s->spec;
	struct counter_cpus cpus = {spec->only_cpus, spec->n_only_cpus};
	int r = event_source_fill(e, s);

	if (s->usdt)
		s->attr.sample_type |= PERF_SAMPLE_RAW;
	if (r == 0)
		r = counter_open_on(e->target, cpus, &s->attr, spec->name,
			e->flags & ATTAR_STREAM_EXACT ? 0 : ATTAR_COUNTER_DEGRADE, &s->counter);
	if (r == 0)
		r = set_filter(s);
	if (r < 0)
		s->counter = attar_counter_close(s->counter);
	return r;
}

/* Events of patterns that are refused are left out. */
int events_open(struct stream_events *e)
{
	struct skipped_events left = {0};
	size_t n = 0;
	int r = 0, ended;

	events_join(e);
	e->target->events = e->sources.n;
	e->target->files_later = target_instances(e->target) + FILE_LIMIT_STREAM;
	vec_each (&e->sources, s) {
		e->target->events_open = (size_t)(s - e->sources.at);
		r = event_source_shares(e, s) ? 0 : event_source_open(e, s);
		r = skipped_events_add(&left, s->spec, r);
		if (r < 0)
			break;
	}
	ended = skipped_events_end(&left);
	if (r < 0 || ended < 0)
		return r < 0 ? r : ended;
	vec_each (&e->sources, s) {
		if (s->counter || s->is_shared)
			e->sources.at[n++] = *s;
		else
			event_source_done(s);
	}
	e->sources.n = n;
	return events_link(e);
}
