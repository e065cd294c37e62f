/* SPDX-License-Identifier: MIT */
#include "source/modes.h"

bool modes_are_of_code(const struct attar_event_spec *spec)
{
	return spec && (spec->kind == ATTAR_EVENT_TRACEPOINT || spec->kind == ATTAR_EVENT_PROBE ||
			       spec->kind == ATTAR_EVENT_USER);
}

unsigned modes_of_spec(const struct attar_event_spec *spec)
{
	const struct perf_event_attr attr = {.exclude_user = spec->exclude_user,
		.exclude_kernel = spec->exclude_kernel,
		.exclude_hv = spec->exclude_hv,
		.exclude_host = spec->exclude_host,
		.exclude_guest = spec->exclude_guest};

	return modes_of(&attr);
}

unsigned modes_of_source(const struct source *s)
{
	return modes_are_of_code(s->spec) ? modes_of_spec(s->spec) : modes_of(&s->attr);
}
