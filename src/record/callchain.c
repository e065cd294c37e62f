/* SPDX-License-Identifier: MIT */
/* Call chain markers: enum perf_callchain_context in linux/perf_event.h. */
#include "attar/record.h"
#include "base/base.h"
#include "record/uapi.h"

enum attar_code_context attar_callchain_context(uint64_t marker)
{
	switch (marker) {
	case PERF_CONTEXT_HV:
		return ATTAR_CONTEXT_HV;
	case PERF_CONTEXT_KERNEL:
		return ATTAR_CONTEXT_KERNEL;
	case PERF_CONTEXT_USER:
	case PERF_CONTEXT_USER_DEFERRED_:
		return ATTAR_CONTEXT_USER;
	case PERF_CONTEXT_GUEST:
		return ATTAR_CONTEXT_GUEST;
	case PERF_CONTEXT_GUEST_KERNEL:
		return ATTAR_CONTEXT_GUEST_KERNEL;
	case PERF_CONTEXT_GUEST_USER:
		return ATTAR_CONTEXT_GUEST_USER;
	default:
		return ATTAR_CONTEXT_UNKNOWN;
	}
}
