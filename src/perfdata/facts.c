/* SPDX-License-Identifier: MIT */
/* What is known of an open recording. */
#include <stdio.h>

#include "perfdata/internal.h"

void recording_damage(struct recording *r, const char *fmt, ...)
{
	va_list args;

	if (r->stats.damage)
		return;
	va_start(args, fmt);
	vsnprintf(r->damage, sizeof(r->damage), fmt, args);
	va_end(args);
	r->stats.damage = r->damage;
}

const char *recording_keep(struct recording *r, const char *text)
{
	char *copy = strdup(text);

	if (!copy || vec_push(&r->texts, copy) < 0) {
		free(copy);
		base_oom();
		return NULL;
	}
	return copy;
}

size_t recording_n_events(const struct recording *r)
{
	return r->events.n;
}

const struct recording_event *recording_get_event(const struct recording *r, size_t index)
{
	return index < r->events.n ? &r->events.at[index]->event : NULL;
}

const struct recording_facts *recording_get_facts(const struct recording *r)
{
	return &r->facts;
}

const struct recording_build_id *recording_build_ids(const struct recording *r, size_t *ret_n)
{
	*ret_n = r->build_ids.n;
	return r->build_ids.at;
}

const struct recording_waits *recording_get_waits(
	const struct recording *r, enum recording_moment moment)
{
	return &r->waits[moment];
}

const recording_scheds *recording_get_scheds(
	const struct recording *r, enum recording_moment moment)
{
	return &r->scheds[moment];
}

const struct recording_missing *recording_missing(const struct recording *r, size_t *ret_n)
{
	*ret_n = r->missing.n;
	return r->missing.at;
}

bool recording_is_starved(const struct recording *r)
{
	return r->starved;
}

int recording_fd(const struct recording *r)
{
	return r->seekable ? -1 : r->fd;
}

void recording_get_stats(const struct recording *r, struct recording_stats *ret_stats)
{
	*ret_stats = r->stats;
}
