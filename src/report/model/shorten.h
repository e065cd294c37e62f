/* SPDX-License-Identifier: MIT */
/*
 * Shortens the strings of a column that is too narrow for them, so that different ones stay
 * different: names of events have the same beginning more often than the same end.
 */
#ifndef REPORT_MODEL_SHORTEN_H
#define REPORT_MODEL_SHORTEN_H

#include "base/buf.h"

struct shorten {
	enum { SHORTEN_END, SHORTEN_PREFIX, SHORTEN_START, SHORTEN_MIDDLE } how;
	size_t prefix; /* bytes and columns that all long strings start with, for SHORTEN_PREFIX */
};

/* Returns text i of a column, escaped, borrowed until the next call. */
typedef const char *shorten_text_fn(void *ctx, size_t i);

/* How to shorten the n strings to `columns`: the first way that makes the fewest of them equal. */
struct shorten shorten_choose(shorten_text_fn *text, void *ctx, size_t n, unsigned columns);

/* Appends text, shortened if it is wider than `columns`. A path loses its beginning. */
void shorten_add(struct buf *b, const struct shorten *how, const char *text, unsigned columns);

#endif
