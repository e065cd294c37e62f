/* SPDX-License-Identifier: MIT */
/*
 * Escapes untrusted text (comm, paths, symbol names, fields) for an output format. Each function
 * appends to b. The input need not be valid UTF-8 and may have any length.
 *
 * A byte that is not UTF-8 is U+FFFD in files of every format, so that a name is the same in all of
 * them; on terminals it is \xNN, as are control characters in formats of lines and pages.
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include "base/buf.h"

/*
 * The number of bytes before the first one that is not a printable ASCII character. Such text is
 * one column per byte wide, and escape_text() does not change it.
 */
size_t escape_plain(const char *text, size_t n);

/*
 * For terminals and logs: control characters (also bidirectional ones) and invalid UTF-8 as \xNN.
 */
void escape_text(struct buf *b, const char *text, size_t n);

/* For formats whose strings are UTF-8: invalid UTF-8 becomes U+FFFD, all else remains. */
void escape_utf8(struct buf *b, const char *text, size_t n);

/* For names in files: control characters as escape_text() has them, invalid UTF-8 as U+FFFD. */
void escape_file_text(struct buf *b, const char *text, size_t n);

/* The inside of a JSON string (RFC 8259): invalid UTF-8 becomes U+FFFD. */
void escape_json(struct buf *b, const char *text, size_t n);

/* The same with the quotes around it. */
void escape_json_string(struct buf *b, const char *text, size_t n);

/* The same for a string that ends with a NUL. */
void escape_json_text(struct buf *b, const char *text);

/* The number of bytes at the start that escape_json() does not change. */
size_t escape_plain_json(const char *text, size_t n);

/* A word of a command line for a shell, in quotes if it needs them. */
void escape_shell(struct buf *b, const char *text);

/*
 * A CSV field (RFC 4180), quoted if necessary; a leading = + - @ that does not start a number is
 * prefixed with ', so that spreadsheets do not evaluate it.
 */
void escape_csv(struct buf *b, const char *text, size_t n);

/* What escape_csv() does with a text. */
enum escape_csv_form { ESCAPE_CSV_PLAIN, ESCAPE_CSV_QUOTED, ESCAPE_CSV_CHANGED };
enum escape_csv_form escape_csv_form(const char *text, size_t n);

/* HTML text and attribute values. */
void escape_html(struct buf *b, const char *text, size_t n);

/*
 * A frame of a folded stack: ';' becomes ':', trailing blanks are left out, and all else is as with
 * escape_file_text().
 */
void escape_folded(struct buf *b, const char *text, size_t n);

#endif
