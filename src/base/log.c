/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdio.h>

/* The log callback, one of the two global variables. */
static attar_log_fn *log_fn;
static void *log_ctx;

void attar_log_set(attar_log_fn *fn, void *ctx)
{
	log_fn = fn;
	log_ctx = ctx;
}

bool log_is_on(void)
{
	return log_fn;
}

static void log_line(enum attar_level level, const char *fmt, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, args);
	log_fn(log_ctx, level, text);
}

#define LOG_AT(level, fmt)                                                                         \
	do {                                                                                       \
		va_list args;                                                                      \
		if (!log_fn)                                                                       \
			return;                                                                    \
		va_start(args, fmt);                                                               \
		log_line(level, fmt, args);                                                        \
		va_end(args);                                                                      \
	} while (0)

void log_debug(const char *fmt, ...)
{
	LOG_AT(ATTAR_DEBUG, fmt);
}

void log_note(const char *fmt, ...)
{
	LOG_AT(ATTAR_NOTE, fmt);
}

void log_warn(const char *fmt, ...)
{
	LOG_AT(ATTAR_WARN, fmt);
}
