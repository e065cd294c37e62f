/* SPDX-License-Identifier: MIT */
#ifndef PERF_BREAKPOINTS_H
#define PERF_BREAKPOINTS_H

#include "base/base.h"

/*
 * Sets a hardware breakpoint on a variable of this process and writes to it. Returns 1 if the
 * breakpoint was hit, 0 if not, as in some virtual machines, or a negative errno without an error
 * message if none could be set: -ENOSPC if other programs use all.
 */
int breakpoints_test(void);

#endif
