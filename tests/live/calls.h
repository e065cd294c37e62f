/* SPDX-License-Identifier: MIT */
/* For tests of streams: the getppid(2) calls of this thread as events, through a small ring. */
#ifndef CALLS_H
#define CALLS_H

#include "live.h"

#include "attar/stream.h"

enum { CALLS_EVENTS = 2 };

/* raw_syscalls:sys_enter, and perhaps sys_exit as the second counter, in a started stream. */
struct calls {
	struct attar_symbols *symbols;
	struct attar_target *target;
	struct attar_counter *counters[CALLS_EVENTS];
	size_t n;
	struct attar_stream *stream;
};

/*
 * Starts a stream of the calls on the target, which it takes over. `more`: bits of sample_type in
 * addition to IP and PERIOD.
 */
void calls_watch(struct calls *calls, struct attar_target *target, bool exits, uint64_t more,
	const struct attar_stream_opts *opts);
void calls_unwatch(struct calls *calls);

#endif
