/* SPDX-License-Identifier: MIT */
/* The dialect of print formats. */
#ifndef EXPR_PRINT_PARSE_H
#define EXPR_PRINT_PARSE_H

#include "expr/parse.h"

/* Parses REC->field, a macro of the kernel, or a name; see struct expr_dialect. */
bool print_operand(struct expr_parser *p, int32_t *ret_node);

#endif
