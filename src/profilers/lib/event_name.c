/* SPDX-License-Identifier: MIT */
#include "lib/event_name.h"

#include <string.h>

/* Events of PMUs, of the kernel and of memory have no system: their colons are part of the name. */
static bool has_system(const struct attar_event_spec *spec)
{
	return spec->kind == ATTAR_EVENT_TRACEPOINT || spec->kind == ATTAR_EVENT_PROBE ||
	       spec->kind == ATTAR_EVENT_USER || spec->kind == ATTAR_EVENT_RAW;
}

static bool has_modifiers(const struct attar_event_spec *spec)
{
	return spec->exclude_user || spec->exclude_kernel || spec->exclude_hv ||
	       spec->exclude_host || spec->exclude_guest || spec->exclude_idle || spec->pinned ||
	       spec->exclusive || spec->sample_read || spec->weak_group || spec->precise_ip ||
	       spec->precise_max;
}

/* The colon before the modifiers at the end of the name; the end of the name: it has none. */
static const char *before_modifiers(const struct attar_event_spec *spec)
{
	const char *end = spec->name + strlen(spec->name), *colon = strrchr(spec->name, ':');

	if (!colon || !has_modifiers(spec))
		return end;
	return colon + 1 + strspn(colon + 1, "ukhGHpPSDeIW") == end ? colon : end;
}

const char *event_name_bare(const struct attar_event_spec *spec)
{
	const char *at = before_modifiers(spec);

	if (spec->alias)
		return spec->alias;
	if (!has_system(spec) || (*spec->name && !at[0] && at[-1] == ':'))
		return spec->name;
	while (at > spec->name && at[-1] != ':')
		at--;
	return at;
}
