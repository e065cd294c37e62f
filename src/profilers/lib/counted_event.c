/* SPDX-License-Identifier: MIT */
#include "lib/counted_event.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 128 };

static bool has_other_attributes(const struct attar_event_spec *spec)
{
	static const char *const known[] = {"alias", "comm", "key", "optional", "printkey", "role"};

	for (size_t i = 0; i < spec->n_options; i++) {
		bool is_known = false;

		for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++)
			is_known |= !strcmp(spec->options[i].name, known[k]);
		if (!is_known)
			return true;
	}
	return false;
}

bool counted_event_is(const struct attar_event_spec *spec, const char *tracepoint)
{
	char name[NAME_BYTES];

	if (!spec || spec->kind != ATTAR_EVENT_TRACEPOINT || !spec->format)
		return false;
	snprintf(name, sizeof(name), "%s:%s", spec->format->system, spec->format->name);
	return !strcmp(name, tracepoint) && !has_other_attributes(spec) && !spec->filter &&
	       !spec->untraced && !spec->period && !spec->freq && !spec->exclude_user &&
	       !spec->exclude_kernel && !spec->exclude_hv && !spec->exclude_host &&
	       !spec->exclude_guest && !spec->exclude_idle;
}
