/* SPDX-License-Identifier: MIT */
#include "run/needed_events.h"

#include <stdio.h>

#include "event/list.h"
#include "run/run.h"

#define WAKEUP "sched:sched_wakeup"
#define WAKING "sched:sched_waking"

static bool is_usdt(const char *event)
{
	return !strncmp(event, "usdt:", strlen("usdt:"));
}

/* Of an event without its filter and attributes; the file of a USDT probe has slashes. */
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
		return true; /* other errors are those of opening it */
	attar_error_clear();
	return false;
}

static int not_recorded(const struct attar_run *run, const char *event)
{
	size_t n = name_length(event);

	return attar_fail(-ENOENT,
		"the recording has no event '%s', which '%s' needs" ATTAR_FIX
		"record it, too: attar record %s-e %s",
		CLIP_N(event, n), run->profiler->name, run->select.is_on ? "-a " : "",
		CLIP_N(event, n));
}

int needed_events_refused(struct attar_run *run, const char *list, int r)
{
	for (const char *comma; list; list = comma ? comma + 1 : NULL) {
		comma = list_find(list, ",");

		char *event _cleanup_free_ =
			strndup(list, comma ? (size_t)(comma - list) : SIZE_MAX);

		if (!event)
			return base_oom();
		if (!strstr(event, "/optional") && !needed_event_exists(run, event))
			return not_recorded(run, event);
	}
	return r;
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
				": a wait for a CPU begins when a task is being woken, "
				"slightly earlier");
			return;
		}
}
