/* SPDX-License-Identifier: MIT */
/* Parser for the expressions after a print format's string: creates nodes of its program. */
#ifndef EXPR_EXPRESSION_H
#define EXPR_EXPRESSION_H

#include "expr/print.h"

/* The text being parsed and the resulting program. */
struct print_source {
	const char *p;
	const struct attar_format *format;
	struct tracefs *tracefs;
	struct print_program *program;
	unsigned depth; /* recursion depth of the parser */
};

void print_blanks(struct print_source *s);

/* Skips white space, and the text if it comes next; then returns true. */
bool print_take(struct print_source *s, const char *text);

/*
 * "a" "b": one string, owned by the program. NULL if there is no string here or it is not
 * terminated.
 */
const char *print_literal(struct print_source *s);

/* Returns the number of the expression's node; -1 if it is invalid or exceeds the limits. */
int32_t print_expression(struct print_source *s);

/*
 * Transfers ownership of an allocated text (NULL: allocation failed) to the program. Returns NULL
 * when out of memory.
 */
const char *print_keep(struct print_source *s, char *text);

#endif
