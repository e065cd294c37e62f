/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdio.h>

static bool reserve(struct buf *b, size_t more)
{
	size_t need = b->len + more + 1, size = b->size ? b->size : 64;
	char *data;

	if (b->failed)
		return false;
	if (need <= b->size)
		return true;
	while (size < need)
		size *= 2;
	data = realloc(b->data, size);
	if (!data) {
		base_oom();
		b->failed = true;
		return false;
	}
	b->data = data;
	b->size = size;
	return true;
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
	if (!reserve(b, n))
		return;
	if (n)
		memcpy(b->data + b->len, bytes, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_str(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list args, again;
	int n;

	va_start(args, fmt);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n >= 0 && reserve(b, (size_t)n)) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	} else {
		b->failed = true;
	}
	va_end(again);
}

void buf_u64(struct buf *b, uint64_t n)
{
	char text[20];
	size_t i = sizeof(text);

	do {
		text[--i] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	buf_add(b, text + i, sizeof(text) - i);
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

char *buf_take(struct buf *b)
{
	char *text;

	buf_add(b, "", 0);
	if (b->failed) {
		buf_done(b);
		return NULL;
	}
	text = b->data;
	*b = (struct buf){0};
	return text;
}
