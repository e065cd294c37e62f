/* SPDX-License-Identifier: MIT */
/*
 * What the user wrote in an error message, with a caret under the position of the error:
 *
 *	no attribute 'stak': did you mean 'stack'?
 *	    sched:sched_wakeup//stak/
 *	                        ^
 */
#ifndef BASE_EXCERPT_H
#define BASE_EXCERPT_H

#include "base/base.h"

/*
 * Appends the text, or the part of it around the column (from 1), and a caret under the column to
 * the current error message. Returns code as a negative errno.
 */
int excerpt_append(const char *text, size_t column, int code);

#endif
