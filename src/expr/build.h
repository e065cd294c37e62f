/* SPDX-License-Identifier: MIT */
/*
 * The builder of checked trees: adds nodes, derives their types by the rules of C, folds constants
 * and enforces the limits. Each function returns the number of the new node, or -1 and records the
 * reason in the parser; an operand of -1 is passed through, so that calls can be nested.
 */
#ifndef EXPR_BUILD_H
#define EXPR_BUILD_H

#include "expr/parse.h"

int32_t expr_add_integer(struct expr_parser *p, uint64_t number, unsigned bits, bool is_signed);
int32_t expr_add_real(struct expr_parser *p, double real);
int32_t expr_add_string(struct expr_parser *p, const char *text, size_t len);

/* Variable i, whose value is a string. */
int32_t expr_add_text_variable(struct expr_parser *p, size_t i);

/* A name without a known value. */
int32_t expr_add_unknown(struct expr_parser *p, const char *name);

/*
 * op: FIELD (a number of the field's size and sign, or floating-point if is_real), BYTES, ADDRESS
 * or LENGTH. The field is copied; NULL: there is no such field.
 */
int32_t expr_add_field(
	struct expr_parser *p, enum expr_op op, const struct attar_field *field, bool is_real);

/* NEGATE, INVERT, NOT */
int32_t expr_add_prefix(struct expr_parser *p, enum expr_op op, int32_t a);

/* An operator with two operands, or INDEX. */
int32_t expr_add_infix(struct expr_parser *p, enum expr_op op, int32_t a, int32_t b);

/*
 * Whether the text can be the name of a task, or the pattern can match one. Otherwise records the
 * reason, as expr_add_infix() does.
 */
bool expr_comm_fits(struct expr_parser *p, bool is_pattern, const char *text, size_t n);

int32_t expr_add_choose(struct expr_parser *p, int32_t a, int32_t b, int32_t c);

/* A type in a cast: an integer of `bits`, 0 if unknown, or a pointer to elements. */
struct expr_cast {
	uint8_t bits;
	bool is_signed;
	bool is_pointer;
	uint16_t element; /* bytes that a pointer points to; 0: unknown */
};

int32_t expr_add_cast(struct expr_parser *p, const struct expr_cast *cast, int32_t a);

/* A node that the caller has initialized except for its depth, such as one that stands for text. */
int32_t expr_add_formatted(struct expr_parser *p, struct expr_node node);

/* A node without operands, of type u64. */
struct expr_node expr_node_of(enum expr_op op);

/* Stores a string in the expression; *ret_offset is its offset. Returns false if out of memory. */
bool expr_keep(struct expr_parser *p, const char *text, size_t len, uint32_t *ret_offset);

#endif
