/* SPDX-License-Identifier: MIT */
/*
 * The text that a number was last written as. Fields of consecutive events often have the same
 * value: then the text is copied, which takes fewer instructions than making its digits.
 */
#ifndef BASE_RECENT_H
#define BASE_RECENT_H

#include "base/base.h"

enum { RECENT_TEXT_MAX = 32 };

struct recent_text {
	uint64_t value;
	size_t len; /* 0: none is kept */
	char text[RECENT_TEXT_MAX];
};

/*
 * Writes the text of this value and returns its end; RECENT_TEXT_MAX bytes may be overwritten.
 * NULL: the text is of another value.
 */
static inline char *recent_text_put(const struct recent_text *recent, uint64_t value, char *to)
{
	if (recent->value != value || !recent->len)
		return NULL;
	memcpy(to, recent->text, RECENT_TEXT_MAX);
	return to + recent->len;
}

/* Keeps the text of a value unless it is too long. RECENT_TEXT_MAX bytes at `text` are read. */
static inline void recent_text_keep(
	struct recent_text *recent, uint64_t value, const char *text, const char *end)
{
	size_t len = (size_t)(end - text);

	recent->value = value;
	recent->len = len <= RECENT_TEXT_MAX ? len : 0;
	memcpy(recent->text, text, RECENT_TEXT_MAX);
}

#endif
