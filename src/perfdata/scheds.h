/* SPDX-License-Identifier: MIT */
/*
 * What the scheduler had counted for threads when a recording began, and when it ended: times that
 * are derived from events can be checked with it.
 */
#ifndef PERFDATA_SCHEDS_H
#define PERFDATA_SCHEDS_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/vec.h"
#include "perfdata/waits.h"

struct cursor;

enum {
	RECORDING_SCHEDS_MAX = 1 << 14,     /* threads */
	RECORDING_SCHEDS_AT_ONCE = 1 << 10, /* threads of one record */
};

/* As /proc/TID/schedstat has it. */
struct recording_sched {
	pid_t pid, tid;
	uint64_t time;       /* ns: when it was read */
	uint64_t ran, delay; /* ns: on a CPU, in the run queue */
	uint64_t turns;      /* on a CPU */
};

typedef VEC(struct recording_sched) recording_scheds;

/* Appends the contents of an EVENT_UPDATE_SCHEDS. */
void recording_scheds_put(
	const struct recording_sched *at, size_t n, enum recording_moment moment, struct buf *b);

/*
 * Reads it into scheds[RECORDING_MOMENTS]. What is malformed is left out. Returns 0 or -ENOMEM.
 */
int recording_scheds_read(recording_scheds *scheds, struct cursor *c);

#endif
