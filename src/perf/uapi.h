/* SPDX-License-Identifier: MIT */
/*
 * Constants of linux/perf_event.h that are newer than the headers of the machine that builds, each with
 * the first kernel that knows it. Values are the kernel's ABI.
 */
#ifndef PERF_UAPI_H
#define PERF_UAPI_H

#include <linux/perf_event.h>

#ifndef PERF_ATTR_SIZE_VER8
#define PERF_ATTR_SIZE_VER8 136 /* 6.3: config3 */
#endif

#define PERF_RECORD_CALLCHAIN_DEFERRED_ 22 /* 6.19 */
#define PERF_CONTEXT_USER_DEFERRED_	((uint64_t)-640) /* 6.19 */

#endif
