/* SPDX-License-Identifier: MIT */
/* Which option an event was refused for: found by opening copies without it. */
#ifndef PERF_ATTR_BISECT_H
#define PERF_ATTR_BISECT_H

#include "perf/open_error.h"
#include "perf/features.h"

/*
 * The newest option without which the event is no longer refused, or refused for another reason;
 * NULL if no single option is the cause.
 */
const struct feature *attr_bisect_find(const struct refusal *r);

/*
 * The option after the last byte of attributes that the kernel supports; NULL: the kernel reports
 * that it supports all.
 */
const struct feature *attr_bisect_too_new(const struct refusal *r, uint32_t *ret_known_bytes);

/* Opens a disabled copy for a moment: 0 or a negative errno. */
int attr_bisect_try(const struct refusal *r, const union uapi_attr *attr);

#endif
