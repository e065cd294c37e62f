/* SPDX-License-Identifier: MIT */
#include "expr/address.h"

#include "expr/user.h"

static const struct expr_node *node_at(const struct expr_parser *p, int32_t index)
{
	return expr_node(p->expr, index);
}

/* ---- building: addresses ---- */

static bool has_elements(const struct expr_type *type)
{
	return type->kind == EXPR_CLASS_BYTES && type->element;
}

static int32_t add_field_address(struct expr_parser *p, const struct expr_node *node)
{
	struct attar_field field = p->expr->fields.at[node->field];
	int32_t index = expr_add_field(p, EXPR_ADDRESS, &field, false);
	struct expr_type *type;

	if (index < 0)
		return -1;
	type = &p->expr->nodes.at[index].type;
	type->is_address = true;
	type->is_text = false;
	type->is_signed = field.is_signed;
	return index;
}

int32_t expr_add_address(struct expr_parser *p, int32_t a)
{
	const struct expr_node *node;

	if (a < 0)
		return -1;
	node = node_at(p, a);
	if (node->op == EXPR_BYTES)
		return a;
	if (node->op == EXPR_INDEX)
		return expr_add_move(p, EXPR_ADD, node->a, node->b);
	if (node->op != EXPR_FIELD)
		return expr_fail(p, "& needs a field or an element");
	return add_field_address(p, node);
}

/* The number of elements of the same size between two addresses. */
static int32_t add_distance(struct expr_parser *p, int32_t a, int32_t b)
{
	struct expr_node node = expr_node_of(EXPR_DISTANCE);
	unsigned element = node_at(p, a)->type.element;

	if (element != node_at(p, b)->type.element)
		return expr_fail(p, "the addresses are of elements of different sizes" ATTAR_FIX
				    "cast one of them, as in (char *)a");
	node.a = a;
	node.b = b;
	node.number = element;
	node.type.is_signed = true;
	return expr_add_formatted(p, node);
}

int32_t expr_add_move(struct expr_parser *p, enum expr_op op, int32_t a, int32_t b)
{
	struct expr_node node = expr_node_of(EXPR_MOVE);
	bool is_first = has_elements(&node_at(p, a)->type), /* a is the address, not b */
		is_second = has_elements(&node_at(p, b)->type);

	if (op == EXPR_SUBTRACT && is_first && is_second)
		return add_distance(p, a, b);
	node.a = is_first ? a : b;
	node.b = is_first ? b : a;
	node.type = node_at(p, node.a)->type;
	if (!is_first && !is_second)
		return expr_fail(p,
			"this has no elements: only arrays, text and addresses of fields "
			"have elements");
	if (is_first == is_second || node_at(p, node.b)->type.kind != EXPR_CLASS_NUMBER)
		return expr_fail(p, "only an integer can be added to an address");
	node.is_inverted = op == EXPR_SUBTRACT;
	node.number = node.type.element;
	node.type.is_address = true;
	return expr_add_formatted(p, node);
}

/* Whether the bytes of a node are in the data of the event. */
static bool is_data(const struct expr_parser *p, int32_t index)
{
	const struct expr_node *node = node_at(p, index);

	while (node->op == EXPR_CAST || node->op == EXPR_MOVE)
		node = node_at(p, node->a);
	return node->op == EXPR_BYTES || node->op == EXPR_ADDRESS;
}

bool expr_is_place(const struct expr_parser *p, int32_t a)
{
	return p->user && (node_at(p, a)->type.is_address || is_data(p, a));
}

int32_t expr_add_offset(struct expr_parser *p, int32_t a)
{
	struct expr_node node = expr_node_of(EXPR_OFFSET);

	if (a < 0)
		return -1;
	node.a = a;
	return expr_add_formatted(p, node);
}

/* ---- building: changes ---- */

/* Checks that a node can be changed, and that the expression may change values. */
static bool can_change(struct expr_parser *p, int32_t index)
{
	const struct expr_node *node = node_at(p, index);

	while (node->op == EXPR_CAST)
		node = node_at(p, node->a);
	if (p->needs_fields)
		expr_fail(p, "a condition cannot change values" ATTAR_FIX "use == to compare");
	else if (node->type.kind == EXPR_CLASS_REAL)
		expr_fail(p, "floating-point numbers cannot be changed");
	else if (node->type.kind == EXPR_CLASS_BYTES)
		expr_fail(p, "an array cannot be changed as a whole" ATTAR_FIX
			     "change its elements, as in a[0]");
	else if (node->op != EXPR_FIELD && !(node->op == EXPR_INDEX && is_data(p, node->a)))
		expr_fail(p, "only fields and their elements can be changed");
	return !p->reason;
}

static int32_t add_change(struct expr_parser *p, struct expr_node node)
{
	node.type = node_at(p, node.a)->type;
	p->user->changes = true;
	return expr_add_formatted(p, node);
}

int32_t expr_add_assignment(struct expr_parser *p, int32_t a, int32_t b)
{
	struct expr_node node = expr_node_of(EXPR_ASSIGN);

	if (a < 0 || b < 0 || !can_change(p, a))
		return -1;
	if (node_at(p, b)->type.kind != EXPR_CLASS_NUMBER)
		return expr_fail(p, "only an integer can be assigned");
	node.a = a;
	node.b = b;
	return add_change(p, node);
}

int32_t expr_add_step(struct expr_parser *p, int32_t a, int by, bool is_postfix)
{
	struct expr_node node = expr_node_of(EXPR_STEP);

	if (a < 0 || !can_change(p, a))
		return -1;
	node.a = a;
	node.number = (uint64_t)by;
	node.is_inverted = is_postfix;
	return add_change(p, node);
}

/* ---- evaluating: addresses ---- */

static struct expr_value nowhere(struct expr_run *run)
{
	run->absent++;
	return (struct expr_value){.bytes = (const uint8_t *)""};
}

/* The offset of bytes in the data. Returns false if they are elsewhere. */
static bool offset_of(const struct expr_run *run, const uint8_t *bytes, size_t *ret_offset)
{
	*ret_offset = (uintptr_t)bytes - (uintptr_t)run->raw;
	return run->raw && bytes && (uintptr_t)bytes >= (uintptr_t)run->raw &&
	       *ret_offset <= run->size;
}

struct expr_value address_of(struct expr_run *run, const struct expr_node *node)
{
	const struct attar_field *f = &run->expr->fields.at[node->field];
	size_t len = f->size;
	const uint8_t *bytes = NULL;

	if (node->type.is_address && f->place != ATTAR_FIELD_FIXED)
		bytes = attar_field_bytes(f, run->raw, run->size, &len);
	else if ((size_t)f->offset + f->size <= run->size)
		bytes = run->raw + f->offset;
	return bytes ? (struct expr_value){.bytes = bytes, .len = len} : nowhere(run);
}

/*
 * Moves the bytes in [0, size], of which the value begins at `at`. The value ends where it ended
 * before, or with all bytes if it now begins after that.
 */
static struct expr_value move(
	struct expr_run *run, struct expr_value v, size_t at, size_t size, int64_t by)
{
	const uint8_t *all = v.bytes - at;
	size_t end = at + v.len, to;

	if (by < -(int64_t)at || by > (int64_t)(size - at))
		return nowhere(run);
	to = (size_t)((int64_t)at + by);
	return (struct expr_value){.bytes = all + to, .len = (to < end ? end : size) - to};
}

struct expr_value address_move(struct expr_run *run, const struct expr_node *node)
{
	struct expr_value v = expr_eval(run, node->a);
	int64_t by = (int64_t)expr_number(run, node->b);
	size_t offset;

	if (__builtin_mul_overflow(by, (int64_t)node->number, &by) || by == INT64_MIN)
		return nowhere(run);
	by = node->is_inverted ? -by : by;
	if (offset_of(run, v.bytes, &offset) && v.len <= run->size - offset)
		return move(run, v, offset, run->size, by);
	return move(run, v, 0, v.len, by); /* text of the expression or of a function */
}

uint64_t address_offset(struct expr_run *run, const struct expr_node *node)
{
	size_t offset;

	if (offset_of(run, expr_eval(run, node->a).bytes, &offset))
		return offset;
	run->absent++;
	return 0;
}

uint64_t address_distance(struct expr_run *run, const struct expr_node *node)
{
	size_t a, b;
	bool are_data = offset_of(run, expr_eval(run, node->a).bytes, &a);

	if (!offset_of(run, expr_eval(run, node->b).bytes, &b) || !are_data) {
		run->absent++;
		return 0;
	}
	return (uint64_t)(((int64_t)a - (int64_t)b) / (int64_t)node->number);
}

/* The bytes of an element; NULL if they are outside the array or, of an address, the data. */
static const uint8_t *element_place(struct expr_run *run, const struct expr_node *node)
{
	const struct expr_type *type = &expr_node(run->expr, node->a)->type;
	struct expr_value v = expr_eval(run, node->a);
	uint64_t index = expr_number(run, node->b);
	size_t offset;

	if (!v.bytes || !type->element)
		return NULL;
	if (type->is_address && offset_of(run, v.bytes, &offset)) {
		v = move(run, v, offset, run->size, 0);
		v.len = run->size - offset;
		if ((int64_t)index < 0) {
			index = 0 - index;
			return index <= offset / type->element ? v.bytes - index * type->element
							       : NULL;
		}
	}
	return index < v.len / type->element ? v.bytes + index * type->element : NULL;
}

uint64_t address_element(struct expr_run *run, const struct expr_node *node)
{
	const struct expr_type *array = &expr_node(run->expr, node->a)->type;
	struct attar_number_type type = {
		.size = (uint8_t)array->element, .is_signed = array->is_signed};
	const uint8_t *at = element_place(run, node);

	if (at)
		return attar_number_u64(&type, at);
	run->absent++;
	return 0;
}

/* ---- evaluating: changes ---- */

/* Stores the number in the private copy, with the size of the field or element. */
static void store(struct expr_run *run, const struct expr_node *node, uint64_t number)
{
	const struct attar_field *f = &run->expr->fields.at[node->field];
	size_t offset, len, size = node->type.bits / 8U;
	const uint8_t *place = node->op == EXPR_FIELD
				       ? attar_field_bytes(f, run->raw, run->size, &len)
				       : element_place(run, node);

	if (!offset_of(run, place, &offset) || size > run->size - offset || !run->copy) {
		run->absent++;
		return;
	}
	number <<= __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 64 - node->type.bits : 0;
	memcpy(run->copy + offset, &number, size);
}

/* Returns the number as the type of the node, which may be a cast of what is changed. */
static uint64_t change(struct expr_run *run, int32_t index, uint64_t number)
{
	const struct expr_node *node = expr_node(run->expr, index);

	number = expr_convert(number, node->type);
	while (node->op == EXPR_CAST)
		node = expr_node(run->expr, node->a);
	store(run, node, number);
	return number;
}

uint64_t address_assign(struct expr_run *run, const struct expr_node *node)
{
	return change(run, node->a, expr_number(run, node->b));
}

uint64_t address_step(struct expr_run *run, const struct expr_node *node)
{
	uint64_t before = expr_number(run, node->a),
		 after = change(run, node->a, before + node->number);

	return node->is_inverted ? before : after;
}
