/* SPDX-License-Identifier: MIT */
#include "base/caret.h"

#include "base/buf.h"

enum { BEFORE_MAX = 60, AFTER_MAX = 36 /* bytes shown on both sides of the caret */ };

static bool is_continued(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80; /* inside a character of UTF-8 */
}

/* Control characters would move the caret. */
static void put_line(struct buf *b, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_char(b, (unsigned char)text[i] < ' ' || text[i] == 127 ? ' ' : text[i]);
}

int caret_fail(int code, const char *text, size_t at, const char *reason)
{
	size_t len = strlen(text), from = 0, to = len;
	struct buf line _cleanup_(buf_done) = {0}, caret _cleanup_(buf_done) = {0};

	at = MIN(at, len);
	if (at > BEFORE_MAX)
		for (from = at - BEFORE_MAX; is_continued(text[from]);)
			from++;
	if (len - at > AFTER_MAX)
		for (to = at + AFTER_MAX; is_continued(text[to]);)
			to--;
	buf_str(&line, from ? "..." : "");
	put_line(&line, text + from, to - from);
	buf_str(&line, to < len ? "..." : "");
	buf_str(&caret, from ? "   " : "");
	for (size_t i = from; i < at; i++)
		if (!is_continued(text[i]))
			buf_char(&caret, ' ');
	if (buf_failed(&line) || buf_failed(&caret))
		return base_oom();
	return attar_fail(code, "%s\n    %s\n    %s^", reason, buf_text(&line), buf_text(&caret));
}
