/* SPDX-License-Identifier: MIT */
/* Capabilities of this thread, as bits: see capabilities(7). */
#ifndef BASE_RIGHTS_H
#define BASE_RIGHTS_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* 5.8 */
#define CAP_BPF     39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40 /* 5.9 */
#endif

#define RIGHT(number) (UINT64_C(1) << (number))

/*
 * For files of results in directories of others, and blocks of a full disk that are kept for root.
 */
#define RIGHTS_FOR_FILES                                                                           \
	(RIGHT(CAP_DAC_OVERRIDE) | RIGHT(CAP_CHOWN) | RIGHT(CAP_FOWNER) | RIGHT(CAP_FSETID) |      \
		RIGHT(CAP_SYS_RESOURCE))

/* Whether the kernel knows a capability. */
bool rights_has(int number);

/*
 * Gives up these capabilities, in this thread and those that it starts; for good, or so that they
 * could be had again. What programs get that it executes does not change: capabilities in the
 * ambient set, which are for them, stay. But after those that were given up for good, a program of
 * root gains capabilities, and the kernel disables events for it as for one that is setuid.
 */
void rights_drop(uint64_t rights, bool for_good);

#endif
