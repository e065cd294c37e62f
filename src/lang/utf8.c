/* SPDX-License-Identifier: MIT */
#include "lang/utf8.h"

void utf8_add(struct buf *to, uint32_t c)
{
	char bytes[4];
	int n = 0;

	if (c < 0x80) {
		buf_char(to, (char)c);
		return;
	}
	if (c >= 0x10000)
		bytes[n++] = (char)(0xf0 | (c >> 18 & 7));
	if (c >= 0x10000)
		bytes[n++] = (char)(0x80 | (c >> 12 & 0x3f));
	else if (c >= 0x800)
		bytes[n++] = (char)(0xe0 | (c >> 12 & 0x0f));
	if (c >= 0x800)
		bytes[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	else
		bytes[n++] = (char)(0xc0 | (c >> 6 & 0x1f));
	bytes[n++] = (char)(0x80 | (c & 0x3f));
	buf_add(to, bytes, (size_t)n);
}
