/* SPDX-License-Identifier: MIT */
#include "run/input/needed_events.h"

#include <stdio.h>

#include "base/buf.h"
#include "event/list.h"
#include "run/input/replay_names.h"
#include "run/run.h"

#define WAKEUP "sched:sched_wakeup"
#define WAKING "sched:sched_waking"

static bool is_usdt(const char *event)
{
	return !strncmp(event, "usdt:", strlen("usdt:"));
}

/* Without the filter and attributes of the event; the file of a USDT probe has slashes. */
static size_t name_length(const char *event)
{
	const char *colon = is_usdt(event) ? strrchr(event, ':') : NULL;

	return colon ? (size_t)(colon - event) + strcspn(colon, "/") : strcspn(event, "/");
}

bool needed_event_exists(struct attar_run *run, const char *event)
{
	struct attar_catalog *catalog = attar_run_catalog(run);
	const struct attar_format *format;
	size_t n = strcspn(event, ":/");
	char system[128], name[128];

	if (run->replay && (event[n] != ':' || is_usdt(event)))
		return replay_has_event(run, event, name_length(event));
	if (!catalog || event[n] != ':')
		return true;
	snprintf(system, sizeof(system), "%.*s", (int)n, event);
	event += n + 1;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(event, "/"), event);
	if (attar_catalog_format(catalog, system, name, &format) != -ENOENT)
		return true; /* opening it reports other errors */
	attar_error_clear();
	return false;
}

/* Names of the events that a profiler needs, and of those that the recording lacks. */
struct needs {
	struct buf all, missing;
	size_t n_missing;
	bool stacks;
};

static bool is_listed(const struct buf *names, const char *name, size_t n)
{
	const char *at = names->len ? buf_text(names) : "";

	while (*at) {
		size_t length = strcspn(at, ",");

		if (length == n && !memcmp(at, name, n))
			return true;
		at += length + (at[length] == ',');
	}
	return false;
}

static void add_need(struct attar_run *run, struct needs *needs, const char *event)
{
	size_t n = name_length(event);

	if (is_listed(&needs->all, event, n))
		return;
	buf_printf(&needs->all, "%s%.*s", needs->all.len ? "," : "", (int)n, event);
	if (needed_event_exists(run, event))
		return;
	buf_printf(&needs->missing, "%s'%s'", needs->n_missing++ ? ", " : "", CLIP_N(event, n));
}

/* Any event that attar_run_sampler() takes will do. */
static void add_sampler(const struct attar_run *run, struct needs *needs)
{
	buf_str(&needs->all, ",cpu-clock");
	if (replay_find_sampler(run))
		return;
	buf_str(&needs->missing, ", 'cpu-clock'");
	needs->n_missing++;
}

/* r, or an error that names all missing events. */
static int refuse(const struct attar_run *run, struct needs *needs, int r)
{
	const struct attar_profiler *profiler = run->profiler;
	bool is_one;

	if (needs->n_missing && profiler->uses & ATTAR_USES_SAMPLING && !run->opts.event)
		add_sampler(run, needs);
	is_one = needs->n_missing == 1;
	if (buf_failed(&needs->all) || buf_failed(&needs->missing))
		r = base_oom();
	else if (needs->n_missing && replay_lacks_formats(run))
		r = replay_formats_missing(run);
	else if (needs->n_missing)
		r = attar_fail(-ENOENT,
			"the recording has no event%s %s, which '%s' needs" ATTAR_FIX
			"record %s, too: attar record %s%s-e %s",
			is_one ? "" : "s", buf_text(&needs->missing), profiler->name,
			is_one ? "it" : "them", run->select.is_on ? "-a " : "",
			needs->stacks ? "-g " : "", buf_text(&needs->all));
	buf_done(&needs->all);
	buf_done(&needs->missing);
	return r;
}

int needed_events_refused(struct attar_run *run, const struct attar_input *inputs, int r)
{
	struct needs needs = {0};

	for (; inputs->event; inputs++) {
		if (inputs->optional)
			continue;
		add_need(run, &needs, inputs->event);
		needs.stacks |= inputs->stacks;
	}
	return refuse(run, &needs, r);
}

static int add_list(struct attar_run *run, struct needs *needs, const char *list)
{
	for (const char *comma; list; list = comma ? comma + 1 : NULL) {
		comma = list_find(list, ",");

		char *event _cleanup_free_ =
			strndup(list, comma ? (size_t)(comma - list) : SIZE_MAX);

		if (!event)
			return base_oom();
		if (!strstr(event, "/optional"))
			add_need(run, needs, event);
	}
	return 0;
}

int needed_events_preset_refused(struct attar_run *run, int r)
{
	struct needs needs = {0};

	for (const char *const *word = run->profiler->preset; word && *word; word++)
		if (!strcmp(*word, "-e") && word[1] && add_list(run, &needs, word[1]) < 0)
			r = -ENOMEM;
	return refuse(run, &needs, r);
}

bool needed_events_of_preset(const struct attar_run *run, const char *list)
{
	for (const char *const *word = run->profiler->preset; word && *word; word++)
		if (!strcmp(*word, list))
			return true;
	return false;
}

void needed_events_take_wakings(struct attar_run *run)
{
	struct attar_catalog *catalog = attar_run_catalog(run);

	if (catalog && run->replay && !replay_has_event(run, WAKEUP, strlen(WAKEUP)))
		tracefs_set_alias(&catalog->tracefs, "sched", "sched_wakeup", "sched_waking");
}

void needed_events_remark(const struct attar_run *run, struct attar_report *report)
{
	vec_each (&run->sources.list, s)
		if (run->replay && !strcmp(s->name, WAKEUP) &&
			!replay_has_event(run, WAKEUP, strlen(WAKEUP))) {
			attar_report_remark(report,
				"the recording has " WAKING ", not " WAKEUP
				": waits for a CPU begin slightly earlier, at the start of "
				"the wakeup");
			return;
		}
}
