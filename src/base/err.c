/* SPDX-License-Identifier: MIT */
/* Error message per thread, in a fixed buffer so that "out of memory" can be reported. */
#include "base/base.h"

#include <stdio.h>
#include <sys/resource.h>

enum { TEXT_MAX = 2048 };

static __thread char error_text[TEXT_MAX];
static __thread char error_fix[TEXT_MAX]; /* "": none */
static __thread size_t reason_len;        /* of the text before the fix and its ": " */
static __thread uint64_t oom_count;

static int negative(int code)
{
	return code > 0 ? -code : code;
}

/*
 * Formats the text with ": " for the separator, or "; " if a ';' precedes it. Returns the length of
 * what is before it; SIZE_MAX: the format has none. The separator is searched in the format, since
 * arguments may have one, too.
 */
static size_t format_text(char text[TEXT_MAX], const char *fmt, va_list args)
{
	const char *separator = fmt ? strstr(fmt, ATTAR_FIX) : NULL;
	char reason[TEXT_MAX], whole[TEXT_MAX];
	bool semicolon;
	va_list again;
	int n;

	if (!separator) {
		vsnprintf(text, TEXT_MAX, fmt ? fmt : "", args);
		return SIZE_MAX;
	}
	semicolon = separator > fmt && separator[-1] == ';';
	snprintf(reason, sizeof(reason), "%.*s", (int)(separator - fmt) - semicolon, fmt);
	snprintf(whole, sizeof(whole), "%s%s%s", reason, semicolon ? "; " : ": ",
		separator + strlen(ATTAR_FIX));
	va_copy(again, args);
	n = vsnprintf(text, TEXT_MAX, reason, again);
	va_end(again);
	vsnprintf(text, TEXT_MAX, whole, args);
	return n < 0 ? SIZE_MAX : (size_t)n;
}

/* The part of the text from `len` on is the fix, if it has one. */
static void set_fix(const char *text, size_t len)
{
	size_t from = len + strlen(": ");

	reason_len = len;
	snprintf(error_fix, sizeof(error_fix), "%s",
		len < TEXT_MAX && from < strlen(text) ? text + from : "");
}

int base_vfail(int code, const char *fmt, va_list args)
{
	char text[TEXT_MAX]; /* separate: an argument may be the old error message */
	const char *old;
	size_t len = format_text(text, fmt, args);

	old = *error_text ? strstr(text, error_text) : NULL;
	if (len == SIZE_MAX && *error_fix && old)
		reason_len += (size_t)(old - text);
	else
		set_fix(text, len);
	memcpy(error_text, text, sizeof(text));
	return negative(code);
}

/* Says how to get more memory, if the message does not, and this process has a limit. */
static void name_limit(void)
{
	struct rlimit limit;

	if (*error_fix || getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return;
	attar_fail(-ENOMEM,
		"%s; the address space of this process is limited to %llu KiB" ATTAR_FIX
		"raise the limit (ulimit -v)",
		error_text, (unsigned long long)limit.rlim_cur / 1024);
}

int attar_fail(int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	code = base_vfail(code, fmt, args);
	va_end(args);
	if (unlikely(code == -ENOMEM))
		name_limit();
	return code;
}

int base_fail_text(int code, const char *text)
{
	const char *fix = strstr(text, ATTAR_FIX);
	int n = fix ? (int)(fix - text) : 0;

	if (!fix)
		return attar_fail(code, "%s", text);
	fix += strlen(ATTAR_FIX);
	return n > 0 && text[n - 1] == ';'
		       ? attar_fail(code, "%.*s;" ATTAR_FIX "%s", n - 1, text, fix)
		       : attar_fail(code, "%.*s" ATTAR_FIX "%s", n, text, fix);
}

int attar_context(int code, const char *fmt, ...)
{
	char text[TEXT_MAX], fix[TEXT_MAX] = "";
	va_list args;
	size_t n, len;

	if (code == -ENOMEM && !*error_text)
		base_oom();
	va_start(args, fmt);
	len = format_text(text, fmt, args);
	va_end(args);
	n = MIN(len, strlen(text));
	if (len < strlen(text) && !*error_fix)
		memcpy(fix, text + len, strlen(text + len) + 1);
	snprintf(text + n, sizeof(text) - n, ": %s", error_text);
	reason_len += n + strlen(": ");
	if (*fix) {
		n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "%s", fix);
		set_fix(text, n);
	}
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

const char *attar_error_reason(void)
{
	static __thread char reason[TEXT_MAX];
	size_t n = strlen(error_text);

	n = *error_fix ? MIN(reason_len, n) : n;
	memcpy(reason, error_text, n);
	reason[n] = '\0';
	return reason;
}

const char *attar_error_fix(void)
{
	return error_fix;
}

void attar_error_clear(void)
{
	error_text[0] = error_fix[0] = '\0';
}

const char *attar_version(void)
{
	return ATTAR_VERSION;
}
