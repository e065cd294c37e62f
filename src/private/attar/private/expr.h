/* SPDX-License-Identifier: MIT */
/*
 * What attar/expr.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_EXPR_H
#define ATTAR_PRIVATE_EXPR_H

#include "attar/expr.h"

/*
 * Writes part i of the compiled expression as text, such as "2: s32 field pid" or "4: s32 2 * 3",
 * where 2 and 3 are the numbers of other parts. The values of its columns are the last parts of
 * their operands. Writes at most max bytes including the NUL and returns the length of the complete
 * text, as snprintf() does; 0 after the last part.
 */
size_t expr_part(const struct attar_expr *expr, size_t i, char *ret_text, size_t max);

/*
 * The field that the expression is, if it is a number at a fixed place of the record and nothing
 * else: attar_field_u64() then reads the same value with less effort. Otherwise NULL. Borrowed from
 * the expression.
 */
const struct attar_field *expr_get_field(const struct attar_expr *expr);

#endif
