/* SPDX-License-Identifier: MIT */
/* The markers of a call chain: enum perf_callchain_context in linux/perf_event.h. */
#include "attar/record.h"
#include "base/base.h"
#include "perf/uapi.h"

static enum attar_context context_of(uint64_t marker)
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

void attar_callchain_marker(struct attar_callchain *chain, uint64_t marker)
{
	chain->context = context_of(marker);
	if (marker == PERF_CONTEXT_USER_DEFERRED_ && chain->at != chain->end) {
		chain->deferred = true;
		chain->cookie = *chain->at++;
	}
}
