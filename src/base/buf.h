/* SPDX-License-Identifier: MIT */
/*
 * A growable string of bytes. Failure is sticky: after a failed allocation every call does nothing
 * and buf_failed() reports it at the end. data is always NUL-terminated (after the first
 * append).
 *
 *	struct buf b _cleanup_(buf_done) = {0};
 *	buf_printf(&b, "%d", 23);
 *	if (buf_failed(&b)) return base_oom();
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/base.h"

struct buf {
	char *data; /* owned by the buf; NULL while empty */
	size_t len; /* bytes, without the NUL */
	size_t size;
	bool failed;
};

/* The slow path of buf_reserve(). */
bool buf_grow(struct buf *b, size_t more);

/* Makes room for `more` bytes and a NUL after the contents. False: out of memory. */
static inline bool buf_reserve(struct buf *b, size_t more)
{
	return likely(more < b->size - b->len && !b->failed) || buf_grow(b, more);
}

static inline void buf_add(struct buf *b, const void *bytes, size_t n)
{
	if (!buf_reserve(b, n))
		return;
	if (n)
		memcpy(b->data + b->len, bytes, n);
	b->len += n;
	b->data[b->len] = '\0';
}

static inline void buf_str(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

static inline void buf_char(struct buf *b, char c)
{
	if (!buf_reserve(b, 1))
		return;
	b->data[b->len++] = c;
	b->data[b->len] = '\0';
}

void buf_printf(struct buf *b, const char *fmt, ...) ATTAR_PRINTF(2, 3);
/* Decimal, faster than printf. */
void buf_u64(struct buf *b, uint64_t n);
void buf_i64(struct buf *b, int64_t n);
/* 1234567 as "1,234,567". */
void buf_grouped(struct buf *b, uint64_t n);
/* Adds numbers to a list such as "1,22,333". */
void buf_list(struct buf *b, const int *numbers, size_t n);

/* Clears the contents, keeps the memory. */
void buf_reset(struct buf *b);
void buf_done(struct buf *b);

static inline bool buf_failed(const struct buf *b)
{
	return b->failed;
}

/* Returns the contents as a string owned by the caller and empties the buf; NULL if it failed. */
char *buf_take(struct buf *b);

/* The contents as a string borrowed until the next call; "" while empty. */
static inline const char *buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}

#endif
