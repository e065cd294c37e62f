/* SPDX-License-Identifier: MIT */
#include "base/excerpt.h"

#include <ctype.h>

#include "base/buf.h"

/* Bytes of the string that are shown before and after the position. */
enum { BEFORE_MAX = 60, AFTER_MAX = 40, INDENT = 4 };

static bool is_inside_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Control characters would move the caret or end the line. */
static void add_text(struct buf *b, const char *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_char(b, iscntrl((unsigned char)at[i]) ? ' ' : at[i]);
}

static size_t count_characters(const char *at, size_t n)
{
	size_t characters = 0;

	for (size_t i = 0; i < n; i++)
		characters += !is_inside_character(at[i]);
	return characters;
}

int excerpt_append(const char *text, size_t column, int code)
{
	struct buf b _cleanup_(buf_done) = {0};
	size_t n = strlen(text), at = MIN(column ? column - 1 : 0, n);
	size_t from = at > BEFORE_MAX ? at - BEFORE_MAX : 0, to = MIN(n, at + AFTER_MAX);
	size_t indent = INDENT + (from ? 3 : 0);

	if (!n)
		return code;
	while (from < at && is_inside_character(text[from]))
		from++;
	while (to < n && is_inside_character(text[to]))
		to++;
	buf_printf(&b, "\n%*s%s", INDENT, "", from ? "..." : "");
	add_text(&b, text + from, to - from);
	buf_printf(&b, "%s\n%*s^", to < n ? "..." : "",
		(int)(indent + count_characters(text + from, at - from)), "");
	return buf_failed(&b) ? code : attar_fail(code, "%s%s", attar_error(), buf_text(&b));
}
