/* SPDX-License-Identifier: MIT */
/* Why the kernel refused an event with EACCES or EPERM. */
#ifndef PERF_PERMISSION_ERROR_H
#define PERF_PERMISSION_ERROR_H

#include "base/buf.h"
#include "perf/open_error.h"

/*
 * Sets the error message and returns refusal->error. Opens and closes scratch events to find the
 * cause.
 */
int permission_error_explain(const struct refusal *refusal);

/* 0, or a negative errno: whether this thread's own user code can be watched with the event. */
int permission_try_own_code(uint32_t type, uint64_t config);

bool permission_has_seccomp_filter(void);

/* Whether a seccomp filter refuses every perf_event_open(2) of this thread. */
bool permission_refused_by_seccomp(void);

/* The name of the PMU of that type in sysfs; "" if there is none. */
void permission_find_pmu(struct buf *b, uint32_t type);

#endif
