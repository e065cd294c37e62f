/* SPDX-License-Identifier: MIT */
/* The expressions behind a print format's string, parsed into nodes of its program. */
#ifndef EXPR_EXPRESSION_H
#define EXPR_EXPRESSION_H

#include "expr/print.h"

/* The text being parsed, and where what it says goes. */
struct print_source {
	const char *p;
	const struct attar_format *format;
	struct tracefs *tracefs;
	struct print_program *program;
	unsigned depth; /* of the parser's own recursion */
};

void print_blanks(struct print_source *s);

/* Passes blanks, and the text where it comes next: then true. */
bool print_take(struct print_source *s, const char *text);

/* "a" "b": one string, owned by the program. NULL when none begins here or it does not end. */
const char *print_literal(struct print_source *s);

/* The number of its node; -1: it is none, or too much of one. */
int32_t print_expression(struct print_source *s);

/* Hands an allocated text (NULL: it failed) to the program; NULL when out of memory. */
const char *print_keep(struct print_source *s, char *text);

#endif
