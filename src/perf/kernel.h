/* SPDX-License-Identifier: MIT */
/*
 * What the running kernel and the privileges of this process allow: read once and cached for the
 * life of the process.
 */
#ifndef PERF_KERNEL_H
#define PERF_KERNEL_H

#include "base/base.h"

#define KERNEL_VERSION_OF(major, minor) ((major)*1000 + (minor))

struct kernel {
	int version;             /* KERNEL_VERSION_OF() */
	char release[65];        /* as uname -r prints it */
	int64_t paranoid;        /* kernel.perf_event_paranoid; INT64_MIN when it cannot be read */
	int64_t max_sample_rate; /* per second */
	int64_t mlock_kb;        /* kernel.perf_event_mlock_kb, of each CPU */
	int64_t max_stack;       /* kernel.perf_event_max_stack */
	bool perfmon;        /* CAP_PERFMON or CAP_SYS_ADMIN, as the rules of the kernel require */
	/* in the initial user namespace: */
	bool sys_admin;      /* CAP_SYS_ADMIN */
	bool sys_ptrace;     /* CAP_SYS_PTRACE */
	bool ipc_lock;       /* CAP_IPC_LOCK: no limit on the memory of rings */
	bool user_namespace; /* not the initial one: its privileges do not apply outside it */
	int cpus_possible;   /* numbers that a CPU can have: 0 .. this - 1 */
};

const struct kernel *kernel_get(void);

/* Reads it again: settings change, and a process may drop privileges. */
void kernel_read_settings(struct kernel *ret_kernel);

#endif
