/* SPDX-License-Identifier: MIT */
/*
 * Reads numbers and strings of either byte order from bytes in memory. Reading past the end sets
 * failed and yields zeros, so that a parser can check once at its end.
 */
#ifndef PERFDATA_CURSOR_H
#define PERFDATA_CURSOR_H

#include "base/base.h"

struct cursor {
	const char *at, *end;
	bool swap;   /* numbers are of the other byte order */
	bool failed; /* a read exceeded the end */
};

static inline struct cursor cursor_of(const void *bytes, size_t len, bool swap)
{
	const char *at = bytes ? bytes : ""; /* NULL: no bytes */

	return (struct cursor){.at = at, .end = at + len, .swap = swap};
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* The next n bytes; NULL if there are fewer. */
static inline const char *cursor_bytes(struct cursor *c, uint64_t n)
{
	const char *at = c->at;

	if (c->failed || n > cursor_left(c)) {
		c->failed = true;
		return NULL;
	}
	c->at += n;
	return at;
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	const char *at = cursor_bytes(c, 8);
	uint64_t value;

	if (!at)
		return 0;
	memcpy(&value, at, sizeof(value));
	return c->swap ? __builtin_bswap64(value) : value;
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	const char *at = cursor_bytes(c, 4);
	uint32_t value;

	if (!at)
		return 0;
	memcpy(&value, at, sizeof(value));
	return c->swap ? __builtin_bswap32(value) : value;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	const char *at = cursor_bytes(c, 2);
	uint16_t value;

	if (!at)
		return 0;
	memcpy(&value, at, sizeof(value));
	return c->swap ? __builtin_bswap16(value) : value;
}

/* A string up to and including its NUL; NULL if it is not terminated. */
static inline const char *cursor_text(struct cursor *c)
{
	const char *nul = memchr(c->at, '\0', cursor_left(c));

	if (!nul) {
		c->failed = true;
		return NULL;
	}
	return cursor_bytes(c, (uint64_t)(nul - c->at) + 1);
}

/* A string of the header: u32 length, bytes with a NUL and padding. NULL if it is malformed. */
static inline const char *cursor_string(struct cursor *c)
{
	uint32_t len = cursor_u32(c);
	const char *text = cursor_bytes(c, len);

	if (!text || !memchr(text, '\0', len)) {
		c->failed = true;
		return NULL;
	}
	return text;
}

#endif
