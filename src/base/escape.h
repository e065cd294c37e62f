/* SPDX-License-Identifier: MIT */
/*
 * Text that other processes chose (comm, paths, symbol names, fields) made harmless for where it
 * goes. Each appends to b; none of them trusts the bytes to be UTF-8 or to be short.
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include "base/buf.h"

/*
 * For a terminal or a log: what controls it (also the direction of text) and invalid UTF-8 as \xNN.
 */
void escape_text(struct buf *b, const char *text, size_t n);

/* The inside of a JSON string (RFC 8259): invalid UTF-8 becomes U+FFFD. */
void escape_json(struct buf *b, const char *text, size_t n);

/*
 * A CSV field (RFC 4180), quoted when it must be; before a leading = + - @ of no number goes a '.
 */
void escape_csv(struct buf *b, const char *text, size_t n);

/* HTML text and attribute values. */
void escape_html(struct buf *b, const char *text, size_t n);

/*
 * A frame of a folded stack: ';' becomes ':', blanks at the ends and control bytes as
 * escape_text().
 */
void escape_folded(struct buf *b, const char *text, size_t n);

#endif
