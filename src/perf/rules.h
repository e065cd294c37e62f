/* SPDX-License-Identifier: MIT */
/* What the kernel refuses on any machine, checked before it is asked: it would only say EINVAL. */
#ifndef PERF_RULES_H
#define PERF_RULES_H

#include "perf/uapi.h"

/* 0, or -EINVAL with a sentence that names the option at fault. event is for the sentence. */
int rules_check(const char *event, const union uapi_attr *attr);

#endif
