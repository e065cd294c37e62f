/* SPDX-License-Identifier: MIT */
/*
 * Who waits for the reader of a pipe asks this every PATIENCE_STEP_MS whether to go on. stalled_ns:
 * since the reader took something, or since the wait began. True: give up, with -ETIMEDOUT.
 */
#ifndef BASE_PATIENCE_H
#define BASE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

enum { PATIENCE_STEP_MS = 100 };

struct patience {
	bool (*is_over)(void *ctx, uint64_t stalled_ns); /* NULL: wait without limit */
	void *ctx;
};

static inline bool patience_is_over(const struct patience *p, uint64_t stalled_ns)
{
	return p->is_over && p->is_over(p->ctx, stalled_ns);
}

#endif
