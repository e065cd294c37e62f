/* SPDX-License-Identifier: MIT */
#include "run/modes.h"

#include "base/base.h"

unsigned modes_of(const struct perf_event_attr *attr)
{
	unsigned modes =
		(attr->exclude_user ? 0 : MODE_USER) | (attr->exclude_kernel ? 0 : MODE_KERNEL);

	return modes ? modes : MODE_HV;
}

/* --exclude-user and the like do not concern tracepoints and probes: see run/events.c. */
unsigned modes_of_source(const struct source *s)
{
	struct perf_event_attr attr = s->attr;

	if (s->spec &&
		(s->spec->kind == ATTAR_EVENT_TRACEPOINT || s->spec->kind == ATTAR_EVENT_PROBE ||
			s->spec->kind == ATTAR_EVENT_USER)) {
		attr.exclude_user = s->spec->exclude_user;
		attr.exclude_kernel = s->spec->exclude_kernel;
	}
	return modes_of(&attr);
}

enum modes_fit modes_fit(unsigned wanted, unsigned recorded)
{
	if (recorded == wanted)
		return FIT_EXACT;
	if (!(wanted & ~recorded))
		return FIT_MORE;
	return recorded & ~wanted ? FIT_NONE : FIT_PARTS;
}

bool modes_have(unsigned modes, const struct attar_event *ev)
{
	if (!modes || modes == (MODE_USER | MODE_KERNEL))
		return true;
	switch (ev->record->misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_USER:
	case PERF_RECORD_MISC_GUEST_USER:
		return modes & MODE_USER;
	case PERF_RECORD_MISC_KERNEL:
	case PERF_RECORD_MISC_GUEST_KERNEL:
		return modes & MODE_KERNEL;
	default:
		return modes & MODE_HV;
	}
}

bool modes_share_ids(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->type == PERF_TYPE_SOFTWARE && b->type == PERF_TYPE_SOFTWARE &&
	       a->config == b->config && a->config != PERF_COUNT_SW_DUMMY &&
	       !attar_attr_is_clock(a) && modes_of(a) & modes_of(b);
}

const char *modes_text(unsigned modes)
{
	return modes == MODE_USER     ? "user code"
	       : modes == MODE_KERNEL ? "kernel code"
	       : modes == MODE_HV     ? "hypervisor code"
				      : "user and kernel code";
}
