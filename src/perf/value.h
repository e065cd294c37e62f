/* SPDX-License-Identifier: MIT */
/* Counts as the kernel gives them, and what they are worth. */
#ifndef PERF_VALUE_H
#define PERF_VALUE_H

#include "attar/perf.h"
#include "base/base.h"

/* raw * enabled / running, rounded; UINT64_MAX when it does not fit. running is not 0. */
uint64_t value_scale(uint64_t raw, uint64_t enabled, uint64_t running);

/* Finds quality and value from raw, the times and elsewhere. */
void value_judge(struct attar_value *v);

/* A value that is not known for a reason: the event is in error. */
void value_error(struct attar_value *v);

#endif
