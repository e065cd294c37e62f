/* SPDX-License-Identifier: MIT */
/* The running kernel: its data in a recording, and whether a recording is from it. */
#ifndef PERFDATA_RUNNING_KERNEL_H
#define PERFDATA_RUNNING_KERNEL_H

#include "perfdata/recording.h"

/* Where the kernel itself is, without modules; 0: hidden or unknown. */
struct kernel_code {
	uint64_t start, end; /* _text and _etext */
};

/* Read once: to find the end takes 40 ms, in which a ring may fill. */
const struct kernel_code *running_kernel_code(void);

/* The address of a symbol, from /proc/kallsyms; 0: hidden or unknown. */
uint64_t running_kernel_address(const char *symbol);

/*
 * Whether the recording was made by this build of the kernel: by build ID, otherwise by release and
 * host. If not, *ret_why is a clause, such as "was recorded by another kernel", without a subject.
 */
bool running_kernel_is_recorded(const struct recording *r, const char **ret_why);

/* Whether the recording was made on this host, or on another one of this name. */
bool this_host_recorded(const struct recording *r);

/* False if the recording has the name of another architecture. */
bool this_arch_recorded(const struct recording *r);

#endif
