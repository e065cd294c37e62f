/* SPDX-License-Identifier: MIT */
/* The perf_event_open(2) system call, with a size of attributes that the running kernel accepts. */
#ifndef PERF_OPEN_H
#define PERF_OPEN_H

#include "base/base.h"
#include "record/uapi.h"

/* The smallest published size that covers all nonzero fields of attr. */
uint32_t open_attr_size(const union uapi_attr *attr);

/*
 * perf_event_open(2) with CLOEXEC and the smallest size; flags are PERF_FLAG_*. Returns the fd, or
 * a negative errno without an error message.
 */
int open_event(union uapi_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);

#endif
