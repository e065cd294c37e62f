/* SPDX-License-Identifier: MIT */
/*
 * A limit of the time to wait for the reader of a pipe. While waiting, call wait_limit_reached()
 * every WAIT_STEP_MS; if it is true, stop with -ETIMEDOUT.
 */
#ifndef BASE_WAIT_LIMIT_H
#define BASE_WAIT_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

enum { WAIT_STEP_MS = 100 };

struct wait_limit {
	/* stalled_ns: since the reader last read, or since the wait began; NULL: no limit */
	bool (*is_reached)(void *ctx, uint64_t stalled_ns);
	void *ctx;
};

static inline bool wait_limit_reached(const struct wait_limit *limit, uint64_t stalled_ns)
{
	return limit->is_reached && limit->is_reached(limit->ctx, stalled_ns);
}

#endif
