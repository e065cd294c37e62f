/* SPDX-License-Identifier: MIT */
/*
 * Addresses within the data of an event, and changes of these data, in the language of users.
 *
 * An address is bytes of the data (type.is_address): `&field`, and an array or string that an
 * integer was added to. Its elements can be anywhere in the data, but not outside of them: such a
 * read yields 0 and is counted as absent. As a number, an address is its offset in the data.
 *
 * An expression that changes fields or elements works on a private copy of the data, which is made
 * for each evaluation (attar_expr.copy).
 */
#ifndef EXPR_ADDRESS_H
#define EXPR_ADDRESS_H

#include "expr/build.h"

/* ---- building: as in expr/build.h ---- */

/* &a, of a field, an element, or an array, whose address is the array itself */
int32_t expr_add_address(struct expr_parser *p, int32_t a);

/* op: ADD or SUBTRACT. Of an address and an integer, an address; of two, the elements between. */
int32_t expr_add_move(struct expr_parser *p, enum expr_op op, int32_t a, int32_t b);

/* Whether a number that is made of this is an offset: of an address, an array or a string. */
bool expr_is_place(const struct expr_parser *p, int32_t a);

/* The offset of an address in the data. */
int32_t expr_add_offset(struct expr_parser *p, int32_t a);

/* a = b, of a field, an element, or a cast of one */
int32_t expr_add_assignment(struct expr_parser *p, int32_t a, int32_t b);

/* ++a, --a, a++, a--; by: 1 or -1 */
int32_t expr_add_step(struct expr_parser *p, int32_t a, int by, bool is_postfix);

/* ---- evaluating: nodes of these operations ---- */

struct expr_value address_of(struct expr_run *run, const struct expr_node *node);
struct expr_value address_move(struct expr_run *run, const struct expr_node *node);
uint64_t address_distance(struct expr_run *run, const struct expr_node *node);
uint64_t address_offset(struct expr_run *run, const struct expr_node *node);
uint64_t address_element(struct expr_run *run, const struct expr_node *node);
uint64_t address_assign(struct expr_run *run, const struct expr_node *node);
uint64_t address_step(struct expr_run *run, const struct expr_node *node);

#endif
