/* SPDX-License-Identifier: MIT */
/*
 * The conditions of --dump-when for what is kept in memory (run/record/blackbox.h):
 *
 *	sched:sched_process_exit/comm=="nginx"/    an event, with a filter
 *	psi:cpu some 200ms/1s                      pressure (PSI) of the machine
 *	psi:/sys/fs/cgroup/x/io.pressure full ...  or of a control group
 */
#ifndef RUN_RECORD_CONDITION_H
#define RUN_RECORD_CONDITION_H

#include "attar/stream.h"

struct condition {
	const char *text;            /* borrowed */
	int fd;                      /* of a PSI trigger; -1: none */
	struct attar_stream *stream; /* NULL: none */
	uint64_t times;              /* it was true */
};

/*
 * Events are watched in the target. All are borrowed until condition_done(). 0; -EINVAL, or another
 * negative errno if it cannot be watched.
 */
int condition_open(struct condition *condition, const char *text, struct attar_target *target,
	struct attar_catalog *catalog);

/*
 * 1: the condition has become true since the last call, *ret_time is when, in ns of
 * CLOCK_MONOTONIC; 0, or a negative errno.
 */
int condition_look(struct condition *condition, uint64_t *ret_time);

void condition_done(struct condition *condition);

#endif
