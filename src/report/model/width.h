/* SPDX-License-Identifier: MIT */
/*
 * Display width of text in terminal columns. The text must be valid UTF-8: call escape_text()
 * first.
 */
#ifndef REPORT_MODEL_WIDTH_H
#define REPORT_MODEL_WIDTH_H

#include "base/buf.h"

/* Wide East Asian characters and emoji count 2, combining marks 0. */
unsigned width_of(const char *text);

/* Appends text, truncated to `columns` with an ellipsis at its end. Returns the width appended. */
unsigned width_cut(struct buf *b, const char *text, unsigned columns);

/* The same, truncated at its beginning. */
void width_cut_start(struct buf *b, const char *text, unsigned columns);

/* The same, truncated after its first `head` columns, which are fewer than `columns`. */
void width_cut_middle(struct buf *b, const char *text, unsigned head, unsigned columns);

/* The same without its first `n` bytes, whole characters; an ellipsis takes their place. */
void width_cut_prefix(struct buf *b, const char *text, size_t n, unsigned columns);

/*
 * Replaces ellipses with ~ and each column of other non-ASCII characters with ?. The text gets
 * neither wider nor longer.
 */
void width_make_ascii(struct buf *b);

#endif
