/* SPDX-License-Identifier: MIT */
/*
 * Log lines for the callback that attar_log_set() installed; formatted only when one is installed.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "attar/base.h"

/* Whether there is a callback. */
bool log_is_on(void);

void log_debug(const char *fmt, ...) ATTAR_PRINTF(1, 2);
void log_note(const char *fmt, ...) ATTAR_PRINTF(1, 2);
void log_warn(const char *fmt, ...) ATTAR_PRINTF(1, 2);

#endif
