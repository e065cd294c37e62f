/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

enum {
	TEXT = 512,
	KEPT = 11, /* texts of a thread, so that pointers from Perror() stay valid */
	WARN_TEXT = 4 * TEXT,
	WARN_END = 32, /* of it, kept for "; and N more" */
};

static _Thread_local struct {
	int code, warn;
	unsigned at;
	char text[KEPT][TEXT];
	unsigned omitted; /* warnings that the text has no room for */
	size_t warned;    /* length of the text without their number */
	char warn_text[WARN_TEXT], last_warn[TEXT];
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
	size_t room = WARN_TEXT - WARN_END;
	char text[TEXT], *end;
	va_list args;

	if (state.warn == SUCCESS) {
		state.warn = code;
		state.warned = state.omitted = 0;
		state.warn_text[0] = state.last_warn[0] = '\0';
	}
	va_start(args, fmt);
	vsnprintf(text, TEXT, fmt, args);
	va_end(args);
	if (state.warn != code || strcmp(state.last_warn, text) == 0)
		return;
	strcpy(state.last_warn, text);
	end = state.warn_text + state.warned;
	if (state.omitted == 0 && state.warned + strlen(text) + 2 < room)
		state.warned += (size_t)sprintf(end, "%s%s", state.warned > 0 ? "; " : "", text);
	else
		sprintf(end, "; and %u more", ++state.omitted);
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
