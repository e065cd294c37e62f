/* SPDX-License-Identifier: MIT */
/* The event of perfume_cost for LTTng-UST. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "perfume_lttng.h"

#if !defined(PERFUME_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define PERFUME_LTTNG_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, event, LTTNG_UST_TP_ARGS(uint32_t, a, uint64_t, b, uint64_t, c),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, a, a) lttng_ust_field_integer(
		uint64_t, b, b) lttng_ust_field_integer(uint64_t, c, c)))

#endif

#include <lttng/tracepoint-event.h>
