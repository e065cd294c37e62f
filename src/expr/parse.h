/* SPDX-License-Identifier: MIT */
/*
 * The parser of expressions. It implements the grammar of C: operators and their ranks,
 * parentheses, casts, constants. A dialect defines which operators exist, and parses its own
 * operands: REC->field and the kernel's macros in print formats, comparisons in filters.
 *
 *	struct expr expr = {0};
 *	struct expr_parser p = {.text = text, .p = text, .dialect = &dialect, .expr = &expr};
 *	int32_t root = expr_parse(&p);
 *	if (root < 0)
 *		... p.reason at p.at
 */
#ifndef EXPR_PARSE_H
#define EXPR_PARSE_H

#include "expr/expr.h"
#include "expr/lex.h"
#include "tracefs/format.h"

struct expr_parser;

struct expr_dialect {
	/*
	 * Parses an operand of the dialect. Returns false if there is none, with p->p unchanged;
	 * otherwise stores the number of its node, -1 if it is invalid.
	 */
	bool (*operand)(struct expr_parser *p, int32_t *ret_node);
	bool is_c; /* all operators of C; otherwise only && || ! and parentheses */
	/*
	 * The language of users: operands of the wrong type are errors, a ~ b matches a pattern,
	 * char is signed, there are floating-point constants and the operator ','.
	 */
	bool is_strict;
	uint16_t depth_max; /* nesting of operands */
};

struct expr_parser {
	const char *text, *p;
	const struct expr_dialect *dialect;
	const struct attar_format *format; /* the fields */
	struct tracefs *tracefs;           /* names of constants; NULL: none */
	struct expr *expr;
	struct attar_expr *user; /* of the language of users; otherwise NULL */
	unsigned depth;
	bool needs_fields; /* comparisons are false if one of their fields is absent */
	const char *mark;  /* where an error is; NULL: at p */
	/* The first error; reason NULL: none, or out of memory. */
	const char *reason, *at;
	bool is_field;     /* the error is that the word at `at` is not a field */
	bool is_forbidden; /* the error is that the options do not allow it */
	bool is_too_long;  /* the error is that a text is longer than what it is compared with */
};

/* Parses an expression and returns the number of its node, or -1. */
int32_t expr_parse(struct expr_parser *p);

/* Parses expressions separated by ',' operators; the value is the value of the last. */
int32_t expr_parse_sequence(struct expr_parser *p);

/* Parses an operand with its prefix operators. */
int32_t expr_parse_unary(struct expr_parser *p);

/* Parses a type after '(' and the ')'. Returns false if there is none, with p->p unchanged. */
struct expr_cast;
bool expr_parse_type(struct expr_parser *p, struct expr_cast *ret_cast);

/* Parses string constants and stores them; returns false if there are none. */
bool expr_parse_string(struct expr_parser *p, uint32_t *ret_text, uint32_t *ret_len);

/* Skips this text, or records that it is missing. */
bool expr_expect(struct expr_parser *p, const char *text);

/* Records why parsing fails at p->mark or p->p, unless it has already failed. Returns -1. */
int32_t expr_fail(struct expr_parser *p, const char *reason);

#endif
