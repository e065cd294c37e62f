/* SPDX-License-Identifier: MIT */
#include "perf/modes.h"

#include "base/base.h"

enum {
	UNKNOWN = 1 << PERF_RECORD_MISC_CPUMODE_UNKNOWN,
	KERNEL = 1 << PERF_RECORD_MISC_KERNEL,
	USER = 1 << PERF_RECORD_MISC_USER,
	HYPERVISOR = 1 << PERF_RECORD_MISC_HYPERVISOR,
	GUEST_KERNEL = 1 << PERF_RECORD_MISC_GUEST_KERNEL,
	GUEST_USER = 1 << PERF_RECORD_MISC_GUEST_USER,
	UNDEFINED = 1 << 6 | 1 << 7,

	GUEST = GUEST_KERNEL | GUEST_USER,
	ALL = (1 << (PERF_RECORD_MISC_CPUMODE_MASK + 1)) - 1,
};

unsigned modes_of(const struct perf_event_attr *attr)
{
	unsigned excluded = 0;

	if (attr->exclude_user)
		excluded |= USER | GUEST_USER;
	if (attr->exclude_kernel)
		excluded |= KERNEL | GUEST_KERNEL;
	if (attr->exclude_hv)
		excluded |= HYPERVISOR;
	if (attr->exclude_guest)
		excluded |= GUEST;
	if (attr->exclude_host)
		excluded |= ALL & ~GUEST;
	return ALL & ~excluded;
}

/* ---- privilege levels ---- */

enum { LEVEL_USER = 1, LEVEL_KERNEL = 2, LEVEL_HV = 4 };

static unsigned levels(unsigned modes)
{
	unsigned found = (modes & (USER | GUEST_USER) ? LEVEL_USER : 0) |
			 (modes & (KERNEL | GUEST_KERNEL) ? LEVEL_KERNEL : 0);

	return found ? found : LEVEL_HV;
}

enum modes_fit modes_fit(unsigned wanted, unsigned recorded)
{
	const unsigned want = levels(wanted), have = levels(recorded);

	if (!(wanted & recorded & ~(UNKNOWN | UNDEFINED)))
		return FIT_NONE;
	if (have == want)
		return FIT_EXACT;
	if (!(want & ~have) || (want == LEVEL_HV && recorded & HYPERVISOR))
		return FIT_MORE;
	return have & ~want ? FIT_NONE : FIT_PARTS;
}

bool modes_share_ids(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->type == PERF_TYPE_SOFTWARE && b->type == PERF_TYPE_SOFTWARE &&
	       a->config == b->config && a->config != PERF_COUNT_SW_DUMMY &&
	       !attar_attr_is_clock(a) && levels(modes_of(a)) & levels(modes_of(b));
}

const char *modes_text(unsigned modes)
{
	switch (levels(modes)) {
	case LEVEL_USER:
		return "user code";
	case LEVEL_KERNEL:
		return "kernel code";
	case LEVEL_HV:
		return "hypervisor code";
	default:
		return "user and kernel code";
	}
}
