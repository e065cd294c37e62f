/* SPDX-License-Identifier: MIT */
/*
 * What the kernel refuses on any machine, checked before the system call, which would only return
 * EINVAL.
 */
#ifndef PERF_ATTR_CHECK_H
#define PERF_ATTR_CHECK_H

#include "record/uapi.h"

/* 0, or -EINVAL with a sentence that names the option. event is for the sentence. */
int attr_check(const char *event, const union uapi_attr *attr);

#endif
