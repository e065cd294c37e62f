/* SPDX-License-Identifier: MIT */
/* error.h - the error and the warning of the calling thread, for Perror() and GetWarn(). */
#ifndef KPERF_ERROR_H
#define KPERF_ERROR_H

#include "attar/base.h"
#include "pcerrc.h"

/* A call begins: it has not failed and has no warning. */
void kp_begin(void);

/* The call succeeds after all; its warning stays. */
void kp_succeed(void);

/* The call fails. Returns the code. */
int kp_fail(int code, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/* As kp_fail(), for use as: return kp_error(...); returns -1. */
#define kp_error(...) (kp_fail(__VA_ARGS__), -1)

/*
 * The call fails because a function of libattar did: the text is attar_error(), and the code that
 * of the negative errno. `other` is the code of those that have no separate one.
 */
int kp_fail_errno(int errno_code, int other);

/* The same for rings of open counters: the permission that is missing is to lock memory. */
int kp_fail_mmap(int errno_code);

/* The call has a warning. The first one's code is kept, and the texts of all with this code. */
void kp_warn(int code, const char *fmt, ...) ATTAR_PRINTF(2, 3);

#endif
