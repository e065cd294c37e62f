/* SPDX-License-Identifier: MIT */
/* error.h - the error and the warning of the calling thread, for Perror() and GetWarn(). */
#ifndef KPERF_ERROR_H
#define KPERF_ERROR_H

#include "attar/base.h"
#include "pcerrc.h"

/* Clears the error and the warning at the start of an API call. */
void kp_begin(void);

/* Clears the error, but not the warning. */
void kp_succeed(void);

/* Sets the error of the call. Returns the code. */
int kp_fail(int code, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/* As kp_fail(), for use as: return kp_error(...); returns -1. */
#define kp_error(...) (kp_fail(__VA_ARGS__), -1)

/*
 * Sets the error after a function of libattar failed: the message is attar_error(), the code is the
 * one for this negative errno, or `other` if there is none.
 */
int kp_fail_errno(int errno_code, int other);

/* Likewise for rings of open counters: EPERM means that locking memory is not permitted. */
int kp_fail_mmap(int errno_code);

/* Adds a warning. Keeps the first code, and the messages of all warnings with this code. */
void kp_warn(int code, const char *fmt, ...) ATTAR_PRINTF(2, 3);

#endif
