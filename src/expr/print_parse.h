/* SPDX-License-Identifier: MIT */
/* The dialect of print formats. */
#ifndef EXPR_PRINT_PARSE_H
#define EXPR_PRINT_PARSE_H

#include "expr/parse.h"
#include "expr/print.h"

/* Parses REC->field, a macro of the kernel, or a name; see struct expr_dialect. */
bool print_operand(struct expr_parser *p, int32_t *ret_node);

/*
 * Parses a format string, and after each conversion its arguments at p: ", a". Appends the pieces;
 * the last has no conversion. Returns false if it is malformed; in the language of users, the
 * parser then has the reason.
 */
bool print_parse_pieces(struct expr_parser *p, const char *fmt, print_pieces *pieces);
void print_pieces_done(print_pieces *pieces);

#endif
