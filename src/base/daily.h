/* SPDX-License-Identifier: MIT */
/* What a user is told once a day. */
#ifndef BASE_DAILY_H
#define BASE_DAILY_H

#include <stdbool.h>

/*
 * Whether the user has not been told in the last 24 hours: the time of the file NAME says so, in
 * /run/attar (root), or "attar-NAME" in $XDG_RUNTIME_DIR. Without these folders, always. The name
 * is one of attar's own.
 */
bool daily_is_first(const char *name);

/* The same with a folder and the present time, in seconds. */
bool daily_is_first_in(const char *folder, const char *name, long long now);

#endif
