/* SPDX-License-Identifier: MIT */
/*
 * Defects of released kernels that a program for perf events can trigger. docs/kernels.md describes
 * each, with its source.
 */
#ifndef PERF_KERNEL_DEFECTS_H
#define PERF_KERNEL_DEFECTS_H

#include "perf/kernel.h"

enum kernel_defect {
	DEFECT_STACKS_BESIDE_UPROBES, /* a user stack is read while a task with uprobes exits */
	DEFECT_CLOCK_REFRESH,         /* PERF_EVENT_IOC_REFRESH of a clock */
	DEFECT_RETURN_PROBES_SECCOMP, /* a uretprobe in a program with a seccomp filter */
	DEFECT_COUNT
};

struct kernel_defect_info {
	int first, last; /* KERNEL_VERSION_OF(): the versions that may have it */
	bool x86_only;
	const char *what;  /* "the kernel can ..." */
	const char *avoid; /* what avoids it */
};

const struct kernel_defect_info *kernel_defect_info(enum kernel_defect defect);

/*
 * Whether this kernel may have the defect. Distributions correct defects without a change of the
 * version, and no kernel tells so.
 */
bool kernel_may_have(const struct kernel *kernel, enum kernel_defect defect);

/*
 * Whether tasks that wait for a mutex stay in the run queue (proxy execution, Linux 6.17): by the
 * command line of the kernel, or its configuration in /boot.
 */
bool kernel_has_proxy_execution(const struct kernel *kernel);

/* The same, of the texts; config may be NULL. */
bool proxy_execution_is_on(const char *command_line, const char *config);

#endif
