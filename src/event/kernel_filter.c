/* SPDX-License-Identifier: MIT */
#include "event/kernel_filter.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <unistd.h>

#include "attar/private/event.h"
#include "base/base.h"
#include "base/buf.h"
#include "expr/filter.h"
#include "tracefs/dynamic_event.h"

/* Probes are not tracepoints: this process is not excluded. */
static int place_text(const char *filter, uint32_t place, char **ret_text)
{
	int n = filter ? asprintf(ret_text, "(%s ) && " PROBE_PLACE " == %u", filter, place)
		       : asprintf(ret_text, PROBE_PLACE " == %u", place);

	return n < 0 ? base_oom() : 0;
}

int kernel_filter_text(const struct attar_event_spec *spec, const char *filter, uint32_t place,
	bool keeps_own, char **ret_text)
{
	bool excludes_own = spec->kind == ATTAR_EVENT_TRACEPOINT && !keeps_own;
	int n = 0;

	*ret_text = NULL;
	if (place)
		return place_text(filter, place, ret_text);
	/* the blank ends the name of a function: "call_site.function == vfs_read" */
	if (filter && excludes_own)
		n = asprintf(ret_text, "(%s ) && common_pid != %d", filter, getpid());
	else if (filter)
		n = asprintf(ret_text, "%s", filter);
	else if (excludes_own)
		n = asprintf(ret_text, "common_pid != %d", getpid());
	return n < 0 ? base_oom() : 0;
}

int kernel_filter_count(struct attar_counter *counter, const struct attar_event_spec *spec)
{
	char *text _cleanup_free_ = NULL;
	int r = 0;

	if (spec->place)
		r = place_text(spec->filter, spec->place, &text);
	if (r == 0 && (text || spec->filter))
		r = attar_counter_filter(counter, text ? text : spec->filter);
	return r;
}

/* Newer kernels have operators that attar does not have: only the fields can be named. */
static int unknown_reason(const struct attar_event_spec *spec, const char *filter)
{
	struct buf fields _cleanup_(buf_done) = {0};
	const struct attar_format *format = spec->format;

	for (size_t i = 0; i < format->n_fields; i++)
		if (!format->fields[i].is_common)
			buf_printf(&fields, "%s%s", fields.len ? ", " : "", format->fields[i].name);
	if (strstr(filter, ".function"))
		return attar_fail(-EINVAL,
			"the kernel rejected the filter '%s' of '%s'" ATTAR_FIX
			"'.function' needs a function that /proc/kallsyms has (Linux 6.2), not one "
			"of a program",
			CLIP(filter), CLIP(spec->name));
	return attar_fail(-EINVAL,
		"the kernel rejected the filter '%s' of '%s', whose fields are %s (strings must be "
		"quoted)",
		CLIP(filter), CLIP(spec->name), buf_text(&fields));
}

int filter_refused(const struct attar_event_spec *spec, const char *filter)
{
	struct filter *parsed = NULL;
	int r;

	if (spec->type != PERF_TYPE_TRACEPOINT || !spec->format)
		return -EINVAL;
	if (!spec->filter)
		return unknown_reason(spec, filter);
	r = filter_parse(spec->filter, spec->format, &parsed);
	filter_free(parsed);
	if (r == 0)
		r = unknown_reason(spec, spec->filter);
	return spec_error(spec, spec->filter_column, r);
}
