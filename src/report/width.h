/* SPDX-License-Identifier: MIT */
/*
 * Display width of text in terminal columns. The text must be valid UTF-8: call escape_text()
 * first.
 */
#ifndef REPORT_WIDTH_H
#define REPORT_WIDTH_H

#include "base/buf.h"

/* Wide East Asian characters and emoji count 2, combining marks 0. */
unsigned width_of(const char *text);

/* Appends text, truncated to `columns` with an ellipsis at its end. Returns the width appended. */
unsigned width_cut(struct buf *b, const char *text, unsigned columns);

/* The same for a path, whose beginning is truncated, since its end is more informative. */
void width_cut_path(struct buf *b, const char *path, unsigned columns);

/*
 * Replaces ellipses with ~ and each column of other non-ASCII characters with ?. The text gets
 * neither wider nor longer.
 */
void width_make_ascii(struct buf *b);

#endif
