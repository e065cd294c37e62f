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

static void copy_modes(struct perf_event_attr *attr, const struct perf_event_attr *from)
{
	attr->exclude_user = from->exclude_user;
	attr->exclude_kernel = from->exclude_kernel;
	attr->exclude_hv = from->exclude_hv;
}

bool modes_alone_differ(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	struct perf_event_attr like = *b;

	copy_modes(&like, a);
	return !memcmp(a, &like, sizeof(like));
}

void modes_join(struct perf_event_attr *a, struct perf_event_attr *b)
{
	const struct perf_event_attr both = {.exclude_user = a->exclude_user && b->exclude_user,
		.exclude_kernel = a->exclude_kernel && b->exclude_kernel,
		.exclude_hv = a->exclude_hv && b->exclude_hv};

	copy_modes(a, &both);
	copy_modes(b, &both);
}

void modes_select(struct perf_event_attr *attr, unsigned modes)
{
	attr->exclude_user = !(modes & (USER | GUEST_USER));
	attr->exclude_kernel = !(modes & (KERNEL | GUEST_KERNEL));
	attr->exclude_hv = !(modes & HYPERVISOR);
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
