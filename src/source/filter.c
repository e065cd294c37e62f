/* SPDX-License-Identifier: MIT */
/* The filters of sources: in the kernel, or in attar where the kernel cannot apply them. */
#include "attar/private/event.h"
#include "base/base.h"
#include "event/kernel_filter.h"
#include "perf/modes.h"
#include "source/share.h"
#include "source/source.h"

int source_filter_choose(const struct attar_event_spec *spec, bool in_kernel,
	const struct attar_expr_opts *opts, struct filter_choice *ret_choice)
{
	struct attar_expr_opts o = *opts;
	unsigned column = 0;
	int r;

	if (!spec->filter || !spec->format)
		return 0;
	o.ret_column = &column;
	r = filter_choose(spec->filter, spec->format, in_kernel, &o, ret_choice);
	return r < 0 && column ? spec_error(spec, spec->filter_column + column - 1, r) : r;
}

/* Excludes this process: printing an event would cause further events. */
static int own_filter(struct source *s, const char *filter)
{
	s->is_filtered = filter;
	return kernel_filter_text(s->spec, filter, s->is_place_filtered ? s->spec->place : 0,
		s->keeps_own, &s->filter);
}

int source_set_filter(struct source_set *set, struct source *s)
{
	const struct attar_event_spec *spec = s->spec;
	struct filter_choice choice = {.in_kernel = true};
	struct attar_expr_opts opts = {0};
	int r;

	if (spec->kind == ATTAR_EVENT_USER)
		return 0; /* not in the kernel: filtered in user space */
	set->ops->expr(set->ctx, &opts);
	r = source_filter_choose(spec, true, &opts, &choice);
	if (r == -EINVAL && spec->pattern) /* it may be left out: see event/skipped_events.h */
		return own_filter(s, spec->filter);
	if (r < 0)
		return r;
	s->keep = choice.in_kernel ? NULL : choice.keep;
	s->spare = choice.in_kernel ? choice.keep : NULL;
	if (!choice.in_kernel)
		log_note("filter '%s' of '%s' runs in attar, not in the kernel: %s",
			CLIP(spec->filter), CLIP(s->name), choice.why);
	else if (spec->filter)
		log_debug("filter '%s' of '%s' runs in the kernel", CLIP(spec->filter),
			CLIP(s->name));
	return own_filter(s, choice.in_kernel ? spec->filter : NULL);
}

/* With a counter of its own, the source is to have the samples of its place only. */
int source_filter_place(const struct source_set *set, struct source *s)
{
	char *text;
	int r;

	if (!s->spec || !s->spec->place || s->is_place_filtered ||
		(source_is_shareable(set, s) && set->ops->can_share(set->ctx, s, s)))
		return 0;
	r = kernel_filter_text(s->spec, s->filter, s->spec->place, s->keeps_own, &text);
	if (r < 0)
		return r;
	free(s->filter);
	s->filter = text;
	s->is_place_filtered = true;
	return 0;
}

int source_replace_filter(struct source_set *set, struct source *s, const char *text)
{
	struct attar_expr_opts opts = {0};
	struct filter_choice choice;
	char *old = s->filter;
	int r;

	set->ops->expr(set->ctx, &opts);
	r = filter_choose(text, s->spec->format, true, &opts, &choice);
	if (r < 0)
		return r;
	if (choice.in_kernel)
		r = own_filter(s, text);
	if (!choice.in_kernel || r < 0) {
		filter_free(choice.keep);
		s->filter = old;
		return r;
	}
	free(old);
	filter_free(s->spare);
	s->spare = choice.keep;
	return 1;
}

/* Applies the filter in user space, since the kernel rejected it. */
static int filter_in_attar(struct source *s)
{
	log_note("filter '%s' of '%s' runs in attar: the kernel rejected it",
		CLIP(s->spec->filter ?: s->filter), CLIP(s->name));
	free(s->filter);
	s->filter = NULL;
	s->keep = TAKE_PTR(s->spare);
	return own_filter(s, NULL);
}

int source_apply_filter(struct source *s)
{
	int r = s->filter && s->counter ? attar_counter_filter(s->counter, s->filter) : 0;

	if (r == -EINVAL && s->spare) {
		r = filter_in_attar(s);
		return r == 0 ? source_apply_filter(s) : r;
	}
	return r == -EINVAL ? filter_refused(s->spec, s->filter) : r;
}

/* ---- samples ---- */

bool source_keeps(const struct filter *filter, const struct attar_event *event)
{
	const struct attar_record *record = event->record;
	const struct attar_expr_record values = {.raw = record->sample.raw,
		.raw_size = record->sample.raw_size,
		.time = event->time,
		.period = record->sample.period,
		.cpu = (int32_t)event->cpu,
		.pid = (int32_t)record->pid,
		.tid = (int32_t)record->tid};

	return filter_keeps(filter, &values);
}

/* Converts the record to one of the user event; false: it is none. */
static bool convert(
	const struct source_set *set, const struct source *s, struct attar_record *record)
{
	struct attar_sample *sample = &record->sample;
	size_t size = sample->raw ? sample->raw_size : 0;

	if (s->only_unshared && !map_get(&set->programs.unshared, record->pid))
		return false;
	size = usdt_convert(s->usdt, sample->raw, size, &sample->raw);
	sample->raw_size = (uint32_t)size;
	return size > 0;
}

/* Arguments follow the address of the probe, or of the function and of its caller. */
static uint32_t place_of(const struct source *s, const struct attar_sample *sample)
{
	const size_t offset = attar_format_field(s->spec->format, "__probe_ret_ip") ? 24 : 16;
	uint32_t place = 0;

	if (sample->raw && sample->raw_size >= offset + sizeof(place))
		memcpy(&place, (const char *)sample->raw + offset, sizeof(place));
	return place;
}

uint32_t source_at_place(
	const struct source_set *set, uint32_t number, const struct attar_record *record)
{
	const struct source *s = &set->list.at[number], *other;
	uint32_t place = place_of(s, &record->sample);

	if (place == s->spec->place)
		return number;
	/* sources of a pattern are in the order of their places */
	if (place > s->spec->place && place - s->spec->place < set->list.n - number) {
		other = s + (place - s->spec->place);
		if (other->shared.is_on && other->shared.owner == number && other->spec &&
			other->spec->place == place && other->spec->format == s->spec->format)
			return (uint32_t)(other - set->list.at);
	}
	return NO_SOURCE;
}

bool source_takes(const struct source_set *set, const struct source *s, struct attar_record *record,
	const struct attar_event *event)
{
	if (s->spec && s->spec->place && place_of(s, &record->sample) != s->spec->place)
		return false;
	return modes_have(s->modes, record->misc) && (!s->usdt || convert(set, s, record)) &&
	       (!s->keep || source_keeps(s->keep, event));
}
