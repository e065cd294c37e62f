/* SPDX-License-Identifier: MIT */
/* Errors in a text that a user wrote: the reason, the text, and a caret under the place. */
#ifndef BASE_CARET_H
#define BASE_CARET_H

#include "base/base.h"

/*
 * Sets the error text "reason\n    text\n    ^" and returns code as a negative errno. The caret is
 * under the byte at `at`. Of a long text, the part around it is shown.
 */
int caret_fail(int code, const char *text, size_t at, const char *reason);

#endif
