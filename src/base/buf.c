/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdio.h>

#include "base/digits.h"

bool buf_grow(struct buf *b, size_t more)
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

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list args, again;
	int n;

	va_start(args, fmt);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n >= 0 && buf_reserve(b, (size_t)n)) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	} else {
		b->failed = true;
	}
	va_end(again);
}

void buf_u64(struct buf *b, uint64_t n)
{
	if (!buf_reserve(b, DIGITS_MAX))
		return;
	b->len = (size_t)(digits_u64(b->data + b->len, n) - b->data);
	b->data[b->len] = '\0';
}

void buf_i64(struct buf *b, int64_t n)
{
	if (n < 0)
		buf_char(b, '-');
	buf_u64(b, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void buf_grouped(struct buf *b, uint64_t n)
{
	char text[32];
	size_t i = sizeof(text);
	int digits = 0;

	do {
		if (digits && digits % 3 == 0)
			text[--i] = ',';
		text[--i] = (char)('0' + n % 10);
		n /= 10;
		digits++;
	} while (n);
	buf_add(b, text + i, sizeof(text) - i);
}

void buf_list(struct buf *b, const int *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s%d", b->len ? "," : "", numbers[i]);
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
