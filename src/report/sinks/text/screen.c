/* SPDX-License-Identifier: MIT */
/* Reports that replace each other on a terminal. */
#include "report/sinks/text/text.h"

/*
 * The screen is not erased first, which would flicker: the rest of each line and of the screen are
 * erased instead. The last line stays free for the cursor and for messages.
 */
void text_replace_screen(struct attar_renderer *r)
{
	unsigned left = r->opts.lines > 1 ? r->opts.lines - 1 : UINT32_MAX;
	struct buf screen = {0}, drawn = r->out;
	const char *at = buf_text(&drawn), *end;

	buf_str(&screen, "\033[H");
	for (; left && (end = strchr(at, '\n')); left--, at = end + 1) {
		buf_add(&screen, at, (size_t)(end - at));
		buf_str(&screen, "\033[K\n");
	}
	buf_str(&screen, "\033[J");
	screen.failed |= drawn.failed;
	buf_done(&drawn);
	r->out = screen;
}
