/* SPDX-License-Identifier: MIT */
/* Error text per thread, in a fixed buffer so that "out of memory" can be reported. */
#include "base/base.h"

#include <stdio.h>

enum { TEXT_MAX = 2048 };

static __thread char error_text[TEXT_MAX];
static __thread uint64_t oom_count;

static int negative(int code)
{
	return code > 0 ? -code : code;
}

int attar_fail(int code, const char *fmt, ...)
{
	char text[TEXT_MAX]; /* separate: an argument may be the old error text */
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	memcpy(error_text, text, sizeof(text));
	return negative(code);
}

int attar_context(int code, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list args;
	size_t n;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	n = strlen(text);
	snprintf(text + n, sizeof(text) - n, ": %s", error_text);
	memcpy(error_text, text, sizeof(text));
	return negative(code);
}

const char *base_clip(char clipped[CLIP_BYTES], const char *text, size_t n)
{
	size_t kept = CLIP_TEXT_MAX;

	if (!text)
		return NULL;
	n = strnlen(text, MIN(n, (size_t)CLIP_TEXT_MAX + 1));
	if (n <= CLIP_TEXT_MAX) {
		memcpy(clipped, text, n);
		clipped[n] = '\0';
		return clipped;
	}
	while (kept && ((unsigned char)text[kept] & 0xc0) == 0x80) /* inside a character */
		kept--;
	memcpy(clipped, text, kept);
	memcpy(clipped + kept, "...", sizeof("..."));
	return clipped;
}

int base_oom(void)
{
	oom_count++;
	return attar_fail(-ENOMEM, "out of memory");
}

uint64_t base_oom_count(void)
{
	return oom_count;
}

const char *attar_error(void)
{
	return error_text;
}

void attar_error_clear(void)
{
	error_text[0] = '\0';
}

const char *attar_version(void)
{
	return ATTAR_VERSION;
}
