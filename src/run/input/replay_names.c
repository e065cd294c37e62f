/* SPDX-License-Identifier: MIT */
#include "run/input/replay_names.h"

#include "base/intern.h"
#include "event/list.h"
#include "run/input/needed_events.h"
#include "run/input/replay.h"
#include "run/run.h"
#include "stream/stream.h"

/* ---- what the recording knows ---- */

bool replay_has_date(const struct attar_run *run)
{
	return !run->replay || recording_get_facts(run->replay->recording)->has_clock_data;
}

uint64_t replay_clock(const struct attar_run *run)
{
	return MAX(recording_get_facts(run->replay->recording)->clock_ns, UINT64_C(1));
}

static bool has_own_samples(const struct recording *recording, const char *name)
{
	for (size_t i = 0; i < recording_n_events(recording); i++) {
		const struct recording_event *event = recording_get_event(recording, i);

		if (!strcmp(event->name, name) && !is_group_member(&event->attr))
			return true;
	}
	return false;
}

bool replay_lacks_fields(const struct attar_run *run, const char *name)
{
	const struct recording *recording = run->replay->recording;

	for (size_t i = 0; i < recording_n_events(recording); i++)
		if (!strcmp(recording_get_event(recording, i)->name, name))
			return !has_own_samples(recording, name);
	return false;
}

int replay_context(const struct attar_run *run, const char *name, int r)
{
	if (run->replay && run->opts.input && replay_lacks_fields(run, name))
		return attar_context(r,
			"'%s' has no fields, only variables such as _period, because it was "
			"counted in the samples of another event (:S of perf record)",
			CLIP(name));
	return attar_context(r, "%s", CLIP(name));
}

/* ---- events by name ---- */

/* The length of a name without modifiers, as in "cycles:u"; "sched:sched_switch" has none. */
static size_t bare_length(const struct recording_event *event)
{
	return event->attr.type == PERF_TYPE_TRACEPOINT ? strlen(event->name)
							: strcspn(event->name, ":");
}

static bool is_named(const struct recording_event *event, const char *name, size_t n)
{
	return ((strlen(event->name) == n || bare_length(event) == n) &&
		       memcmp(event->name, name, n) == 0) ||
	       (event->tracepoint && strlen(event->tracepoint) == n &&
		       memcmp(event->tracepoint, name, n) == 0);
}

bool replay_is_named(const struct recording_event *event, const char *name)
{
	return is_named(event, name, strlen(name));
}

static enum attar_event_kind kind_of(uint32_t type)
{
	switch (type) {
	case PERF_TYPE_HARDWARE:
		return ATTAR_EVENT_HARDWARE;
	case PERF_TYPE_SOFTWARE:
		return ATTAR_EVENT_SOFTWARE;
	case PERF_TYPE_HW_CACHE:
		return ATTAR_EVENT_CACHE;
	case PERF_TYPE_BREAKPOINT:
		return ATTAR_EVENT_BREAKPOINT;
	case PERF_TYPE_TRACEPOINT:
		return ATTAR_EVENT_TRACEPOINT;
	default:
		return ATTAR_EVENT_PMU;
	}
}

static int add_recorded(struct list *list, const struct recording_event *event)
{
	struct attar_event_spec spec = {.name = list_text(list, event->name, strlen(event->name)),
		.kind = kind_of(event->attr.type),
		.type = event->attr.type,
		.config = event->attr.config,
		.exclude_user = event->attr.exclude_user,
		.exclude_kernel = event->attr.exclude_kernel,
		.exclude_hv = event->attr.exclude_hv,
		.unit = "",
		.scale = 1,
		.group = -1};

	return spec.name && vec_push(&list->specs, spec) == 0 ? 0 : base_oom();
}

/* An event of a script, or of perf record -s, has counts; one of a script has nothing else. */
bool replay_has_wanted(const struct run_replay *replay, const struct recording_event *event)
{
	bool counts = event->attr.inherit_stat,
	     samples = event->attr.sample_period || is_group_member(&event->attr) || !counts;

	return replay->counts_wanted ? counts : samples;
}

/* Adds the events with this name; -ENOENT without an error message if there is none. */
static int add_by_name(
	const struct run_replay *replay, struct list *list, const char *name, size_t n)
{
	const struct recording *recording = replay->recording;
	int r = -ENOENT;

	for (size_t i = 0; i < recording_n_events(recording); i++) {
		const struct recording_event *event = recording_get_event(recording, i);

		if (r != -ENOMEM && !event->format_text && is_named(event, name, n) &&
			replay_has_wanted(replay, event))
			r = add_recorded(list, event);
	}
	return r;
}

/* Adds the events of a part of a list that exist on this machine, too; -ENOENT: they do not. */
static int add_known(struct attar_run *run, struct list *list, const char *text, size_t n)
{
	char *part _cleanup_free_ = strndup(text, n);
	struct attar_event_list *known;
	int r = part ? attar_event_list_parse(attar_run_catalog(run), part, &known) : base_oom();

	if (r < 0 && r != -ENOMEM) {
		attar_error_clear();
		return -ENOENT;
	}
	if (r < 0)
		return r;
	if (vec_push(&run->sources.lists, known) < 0) {
		attar_event_list_free(known);
		return base_oom();
	}
	for (size_t i = 0; r == 0 && i < known->n; i++)
		if (vec_push(&list->specs, known->at[i]) < 0)
			r = base_oom();
	return r;
}

static int add_part(struct attar_run *run, struct list *list, const char *text, size_t n)
{
	int r = add_by_name(run->replay, list, text, n);

	return r == -ENOENT ? add_known(run, list, text, n) : r;
}

/*
 * Looks up names that only the recording has, such as events of a PMU that this machine lacks.
 * The text may also have other names, such as tracepoints.
 */
static int parse_by_name(
	struct attar_run *run, const char *text, struct attar_event_list **ret_list)
{
	struct list *list = calloc(1, sizeof(*list));
	int r = !list ? base_oom() : *text ? 0 : -EINVAL;

	while (r == 0 && *text) {
		const char *comma = list_find(text, ",");
		size_t n = comma ? (size_t)(comma - text) : strlen(text);

		r = add_part(run, list, text, n);
		while (r == -ENOENT && comma) { /* the name of an event of a PMU has commas */
			comma = list_find(text + n + 1, ",");
			n = comma ? (size_t)(comma - text) : strlen(text);
			r = add_part(run, list, text, n);
		}
		text += n + (comma != NULL);
	}
	if (r < 0) {
		attar_event_list_free(list ? &list->pub : NULL);
		return r;
	}
	list->pub.at = list->specs.at;
	list->pub.n = list->specs.n;
	*ret_list = &list->pub;
	return 0;
}

bool replay_lacks_formats(const struct attar_run *run)
{
	const struct recording *recording = run->replay->recording;
	struct recording_stats stats;

	recording_get_stats(recording, &stats);
	for (size_t i = 0; stats.damage && i < recording_n_events(recording); i++) {
		const struct recording_event *event = recording_get_event(recording, i);

		if (event->attr.type == PERF_TYPE_TRACEPOINT && !event->format_text)
			return true;
	}
	return false;
}

int replay_formats_missing(const struct attar_run *run)
{
	struct recording_stats stats;

	recording_get_stats(run->replay->recording, &stats);
	return attar_fail(-EBADMSG,
		"%s is damaged: %s; so the names and fields of its tracepoints, which follow the "
		"data, are unknown" ATTAR_FIX
		"copy the file again, or read it where it was recorded before that machine "
		"restarts",
		CLIP(run->opts.input), stats.damage);
}

static int not_parsed(struct attar_run *run, const char *text, int r)
{
	bool is_absent = r == -ENOENT || r == -ENODEV, is_of_preset;
	struct recording_stats stats;

	if (r == -ENOMEM || r == -ECANCELED)
		return r;
	recording_get_stats(run->replay->recording, &stats);
	r = is_absent ? -EINVAL : r;
	if (replay_lacks_formats(run))
		return replay_formats_missing(run);
	if (stats.damage)
		return attar_context(r, "%s is damaged (%s)", CLIP(run->opts.input), stats.damage);
	is_of_preset = needed_events_of_preset(run, text);
	r = attar_context(r, "%s", is_absent || is_of_preset ? CLIP(run->opts.input) : "--event");
	return is_of_preset ? needed_events_preset_refused(run, r) : r;
}

int replay_parse_events(
	struct attar_run *run, const char *text, const struct attar_event_list **ret_list)
{
	struct attar_event_list *list;
	int r = attar_event_list_parse(attar_run_catalog(run), text, &list), by_name;

	if (r < 0) {
		by_name = parse_by_name(run, text, &list);
		if (by_name < 0 && by_name != -ENOMEM) /* to say what is wrong in all of it */
			by_name = attar_event_list_parse(attar_run_catalog(run), text, &list);
		if (by_name < 0)
			return not_parsed(run, text, by_name);
		attar_error_clear();
	}
	if (vec_push(&run->sources.lists, list) < 0) {
		attar_event_list_free(list);
		return base_oom();
	}
	*ret_list = list;
	return 0;
}

static bool is_dummy(const struct recording_event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_DUMMY;
}

/* Whether the number of samples is proportional to the time on a CPU. */
static bool measures_time(const struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_SOFTWARE)
		return attr->config == PERF_COUNT_SW_CPU_CLOCK ||
		       attr->config == PERF_COUNT_SW_TASK_CLOCK;
	/* the upper half is the PMU, on CPUs with different cores */
	return attr->type == PERF_TYPE_HARDWARE &&
	       ((uint32_t)attr->config == PERF_COUNT_HW_CPU_CYCLES ||
		       (uint32_t)attr->config == PERF_COUNT_HW_REF_CPU_CYCLES);
}

const struct recording_event *replay_find_sampler(const struct attar_run *run)
{
	const struct recording *recording = run->replay->recording;
	const struct recording_event *other = NULL;

	for (size_t i = 0; i < recording_n_events(recording); i++) {
		const struct recording_event *event = recording_get_event(recording, i);

		if (is_dummy(event) || event->attr.type == PERF_TYPE_TRACEPOINT ||
			!replay_has_wanted(run->replay, event))
			continue;
		if (measures_time(&event->attr))
			return event;
		other = other ? other : event;
	}
	return other;
}

void replay_add_names(const struct attar_run *run, const char *separator, struct buf *names)
{
	const struct recording *recording = run->replay->recording;
	struct intern known = {0};

	for (size_t i = 0; i < recording_n_events(recording); i++) {
		const struct recording_event *event = recording_get_event(recording, i);
		size_t before = known.n;

		if (is_dummy(event) || !replay_has_wanted(run->replay, event) ||
			(intern_text(&known, event->name) && known.n == before))
			continue;
		buf_printf(names, "%s%s", names->len ? separator : "", event->name);
	}
	intern_done(&known);
}

bool replay_has_event(const struct attar_run *run, const char *name, size_t n)
{
	const struct recording *recording = run->replay->recording;

	for (size_t i = 0; i < recording_n_events(recording); i++)
		if (is_named(recording_get_event(recording, i), name, n))
			return true;
	return false;
}

int replay_name_events(const struct attar_run *run, struct buf *names)
{
	replay_add_names(run, ",", names);
	if (buf_failed(names))
		return base_oom();
	return names->len ? 0 : attar_fail(-EINVAL, "%s has no events", CLIP(run->opts.input));
}

int replay_name_counts(struct attar_run *run, struct buf *names)
{
	int r;

	run->replay->counts_wanted = true;
	r = replay_name_events(run, names);
	run->replay->counts_wanted = false;
	return r;
}
