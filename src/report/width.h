/* SPDX-License-Identifier: MIT */
/*
 * How many columns of a terminal a text takes. The text must be valid UTF-8: escape_text() comes
 * first.
 */
#ifndef REPORT_WIDTH_H
#define REPORT_WIDTH_H

#include "base/buf.h"

/* Wide East Asian characters and emoji count 2, combining marks 0. */
unsigned width_of(const char *text);

/*
 * Appends text; what is wider than `columns` is cut and ends in an ellipsis. Returns the width
 * appended.
 */
unsigned width_cut(struct buf *b, const char *text, unsigned columns);

/* The same for a path: it is cut in front, since its end tells more. */
void width_cut_path(struct buf *b, const char *path, unsigned columns);

/*
 * Puts ~ for an ellipsis and ? for each column of what else is not ASCII: no wider, and no longer.
 */
void width_make_ascii(struct buf *b);

#endif
