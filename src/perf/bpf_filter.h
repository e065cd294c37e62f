/* SPDX-License-Identifier: MIT */
/*
 * A BPF program that drops samples by the task that was interrupted. It belongs to one event;
 * one of a tracepoint would drop the event for its other users, too.
 */
#ifndef PERF_BPF_FILTER_H
#define PERF_BPF_FILTER_H

#include "base/parse.h"

struct bpf_filter {
	parse_ints prios;    /* of the kernel: 0 to 139; empty: any */
	parse_ints policies; /* SCHED_*; empty: any */
	/* of the number of tasks that run or wait on the CPU; 0 and UINT32_MAX: any */
	uint32_t running_min, running_max;
	int irqs_disabled; /* 1, 0; -1: any */
	int need_resched;  /* the same: the interrupted task is to be rescheduled */
};

/*
 * Loads the program; the caller closes *ret_fd. -EOPNOTSUPP: the kernel has no BTF (Linux 5.5), or
 * not what a condition needs; -EPERM: not permitted.
 */
int bpf_filter_load(const struct bpf_filter *filter, int *ret_fd);

/*
 * The bits of thread_info.flags that say that a task is to be rescheduled, in kernels of this
 * version, KERNEL_VERSION_OF(). 0: unknown on this architecture.
 */
int32_t bpf_filter_resched_flags(int version);

#endif
