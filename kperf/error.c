/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "error.h"

enum {
	TEXT = 512,
	KEPT = 11, /* texts of a thread, so that pointers from Perror() stay valid */
};

static _Thread_local struct {
	int code, warn;
	unsigned at;
	char text[KEPT][TEXT], warn_text[TEXT];
} state;

void kp_begin(void)
{
	state.code = state.warn = SUCCESS;
}

void kp_succeed(void)
{
	state.code = SUCCESS;
}

int kp_fail(int code, const char *fmt, ...)
{
	va_list args;

	state.at = (state.at + 1) % KEPT;
	va_start(args, fmt);
	vsnprintf(state.text[state.at], TEXT, fmt, args);
	va_end(args);
	return state.code = code;
}

/* The code of an errno that means the same for all calls; 0: none. */
static int code_of(int errno_code)
{
	switch (-errno_code) {
	case EACCES:
	case EPERM:
		return LIBPERF_ERR_NO_PERMISSION;
	case EMFILE:
	case ENFILE:
		return LIBPERF_ERR_TOO_MANY_FD;
	case ENOMEM:
		return COMMON_ERR_NOMEM;
	case ESRCH:
		return LIBPERF_ERR_NO_PROC;
	case EBUSY:
		return LIBPERF_ERR_DEVICE_BUSY;
	}
	return 0;
}

int kp_fail_errno(int errno_code, int other)
{
	int code = code_of(errno_code);

	return kp_fail(code ? code : other, "%s", attar_error());
}

int kp_fail_mmap(int errno_code)
{
	if (errno_code == -EPERM || errno_code == -EACCES)
		return kp_fail(LIBPERF_ERR_FAIL_MMAP, "%s", attar_error());
	return kp_fail_errno(errno_code, LIBPERF_ERR_FAIL_MMAP);
}

void kp_warn(int code, const char *fmt, ...)
{
	va_list args;

	if (state.warn != SUCCESS)
		return;
	va_start(args, fmt);
	vsnprintf(state.warn_text, TEXT, fmt, args);
	va_end(args);
	state.warn = code;
}

int Perrorno(void)
{
	return state.code;
}

const char *Perror(void)
{
	return state.code == SUCCESS ? "" : state.text[state.at];
}

int GetWarn(void)
{
	return state.warn;
}

const char *GetWarnMsg(void)
{
	return state.warn == SUCCESS ? "" : state.warn_text;
}
