/* SPDX-License-Identifier: MIT */
/* What the caller has to free: a second free, and a use after it, are errors. Thread-safe. */
#ifndef KPERF_HANDLES_H
#define KPERF_HANDLES_H

#include <stdbool.h>

/* False: out of memory. */
bool kp_handle_add(const void *handle);

bool kp_handle_exists(const void *handle);

/* Forgets a handle. False: it does not exist. */
bool kp_handle_remove(const void *handle);

#endif
