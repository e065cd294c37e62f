/* SPDX-License-Identifier: MIT */
/* Evaluate checked expressions by the rules of C: promotion, width, sign. */
#include "expr/expr.h"

#include <time.h>

#include "attar/expr.h"
#include "expr/address.h"
#include "expr/functions.h"

/* ---- fields ---- */

static uint64_t load_dynamic(struct expr_run *run, const struct attar_field *f)
{
	struct attar_number_type type = {.size = (uint8_t)f->size, .is_signed = f->is_signed};
	size_t len;
	const void *bytes = attar_field_bytes(f, run->raw, run->size, &len);

	if (bytes && len >= f->size)
		return attar_number_u64(&type, bytes);
	run->absent++;
	return 0;
}

static inline uint64_t evaluate_load(struct expr_run *run, const struct expr_node *node)
{
	const struct attar_field *f = &run->expr->fields.at[node->field];

	if (f->place != ATTAR_FIELD_FIXED)
		return load_dynamic(run, f);
	if ((size_t)f->offset + f->size > run->size) {
		run->absent++;
		return 0;
	}
	return attar_field_u64(f, run->raw, run->size);
}

static inline struct expr_value bytes_value(struct expr_run *run, const void *bytes, size_t len)
{
	if (bytes)
		return (struct expr_value){.bytes = bytes, .len = len};
	run->absent++;
	return (struct expr_value){.bytes = (const uint8_t *)""};
}

static inline struct expr_value field_bytes(struct expr_run *run, const struct expr_node *node)
{
	const struct attar_field *f = &run->expr->fields.at[node->field];
	size_t len = 0;
	const void *bytes = attar_field_bytes(f, run->raw, run->size, &len);

	return bytes_value(run, bytes, len);
}

static inline double load_real(struct expr_run *run, const struct expr_node *node)
{
	const struct attar_field *f = &run->expr->fields.at[node->field];
	struct attar_number_type type = {.size = (uint8_t)f->size, .is_float = true};
	size_t len;
	const void *bytes = attar_field_bytes(f, run->raw, run->size, &len);

	if (bytes && len >= f->size)
		return attar_number_double(&type, bytes);
	run->absent++;
	return 0;
}

static inline double real_value(struct expr_run *run, const struct expr_node *node)
{
	return node->op == EXPR_FIELD ? load_real(run, node) : node->real;
}

/*
 * The kernel's own trace files also use the value at the time of printing. 64-bit kernels start the
 * counter 300 s before 2^32 (INITIAL_JIFFIES); the first tick comes some ms after the clock's 0, so
 * this is a little ahead and differences to earlier values are never negative.
 */
static uint64_t jiffies(void)
{
	struct timespec tick; /* the resolution of the coarse clock is the period of the tick */
	uint64_t period, hz;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) < 0 || tick.tv_nsec <= 0)
		return 0;
	period = (uint64_t)tick.tv_nsec;
	hz = (1000000000 + period / 2) / period;
	return (uint32_t)(0 - 300 * hz) + base_now() / period;
}

/* ---- values that are not in the record ---- */

static uint64_t member(struct expr_run *run, const struct expr_node *node)
{
	struct attar_number_type type = {
		.size = node->type.bits / 8U, .is_signed = node->type.is_signed};

	return attar_number_u64(&type, (const char *)run->record + node->number);
}

static struct expr_value variable(struct expr_run *run, const struct expr_node *node)
{
	const struct attar_expr_value *v = &run->record->variables[node->number];

	if (node->type.kind == EXPR_CLASS_NUMBER)
		return (struct expr_value){.number = v->number};
	return bytes_value(run, v->bytes, v->len);
}

/* A number as an integer of 64 bits: the nearest one if it cannot be represented. */
static uint64_t truncated(struct expr_run *run, const struct expr_node *node)
{
	const struct expr_node *a = expr_node(run->expr, node->a);
	double real = real_value(run, a);

	if (real != real)
		return 0;
	if (real <= -0x1p63)
		return 1ULL << 63;
	if (real >= 0x1p63 && node->type.is_signed)
		return INT64_MAX;
	if (real >= 0x1p63)
		return real >= 0x1p64 ? UINT64_MAX : (uint64_t)real;
	return (uint64_t)(int64_t)real;
}

/* ---- operators ---- */

static inline uint64_t left(struct expr_run *run, const struct expr_node *node)
{
	const struct expr_node *a = expr_node(run->expr, node->a);

	return a->op == EXPR_FIELD ? evaluate_load(run, a) : expr_number(run, node->a);
}

static inline uint64_t right(struct expr_run *run, const struct expr_node *node)
{
	return node->has_constant ? node->number : expr_number(run, node->b);
}

static uint64_t divide(struct expr_run *run, const struct expr_node *node)
{
	uint64_t a = expr_convert(left(run, node), node->operand),
		 b = expr_convert(right(run, node), node->operand);
	bool rest = node->op == EXPR_REMAINDER;

	if (!b) {
		run->by_zeros++;
		return 0;
	}
	if (!node->operand.is_signed)
		return rest ? a % b : a / b;
	if ((int64_t)b == -1)
		return rest ? 0 : 0 - a;
	return (uint64_t)(rest ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
}

static uint64_t shift(struct expr_run *run, const struct expr_node *node)
{
	uint64_t a = left(run, node), by = right(run, node);

	if (by >= node->type.bits)
		return 0;
	if (node->op == EXPR_SHIFT_LEFT)
		return expr_convert(a << by, node->type);
	return node->type.is_signed ? (uint64_t)((int64_t)a >> by) : a >> by;
}

/* The lowest bits of the result depend on the lowest bits of the operands only. */
static inline uint64_t arithmetic(struct expr_run *run, const struct expr_node *node)
{
	uint64_t a = left(run, node), b = right(run, node);

	switch ((enum expr_op)node->op) {
	case EXPR_MULTIPLY:
		return a * b;
	case EXPR_ADD:
		return a + b;
	case EXPR_SUBTRACT:
		return a - b;
	case EXPR_BIT_AND:
		return a & b;
	case EXPR_BIT_XOR:
		return a ^ b;
	default:
		return a | b;
	}
}

#define COMPARE(op_, a_, b_)                                                                       \
	((op_) == EXPR_EQUAL               ? (a_) == (b_)                                          \
		: (op_) == EXPR_NOT_EQUAL  ? (a_) != (b_)                                          \
		: (op_) == EXPR_LESS       ? (a_) < (b_)                                           \
		: (op_) == EXPR_GREATER    ? (a_) > (b_)                                           \
		: (op_) == EXPR_LESS_EQUAL ? (a_) <= (b_)                                          \
					   : (a_) >= (b_))

static __attribute__((noinline)) bool compare_numbers(
	struct expr_run *run, const struct expr_node *node)
{
	uint32_t absent = run->absent;
	uint64_t a = expr_convert(left(run, node), node->operand),
		 b = expr_convert(right(run, node), node->operand);

	if (node->needs_fields && run->absent != absent)
		return false;
	if (node->operand.is_signed)
		return COMPARE(node->op, (int64_t)a, (int64_t)b);
	return COMPARE(node->op, a, b);
}

/* The text of a node, up to its NUL. */
static const char *text_value(struct expr_run *run, int32_t index, size_t *ret_len)
{
	struct expr_value v = expr_eval(run, index);

	*ret_len = strnlen((const char *)v.bytes, v.len);
	return (const char *)v.bytes;
}

/* The usual case: the text of a field and a constant. */
static bool compare_constant(struct expr_run *run, const struct expr_node *node)
{
	uint32_t absent = run->absent;
	struct expr_value a = field_bytes(run, expr_node(run->expr, node->a));
	const char *text = (const char *)a.bytes, *constant = expr_text(run->expr, node);
	size_t n = node->text_len;

	if (node->needs_fields && run->absent != absent)
		return false;
	if (node->op == EXPR_GLOB)
		return expr_glob(constant, n, text, strnlen(text, a.len)) != node->is_inverted;
	return (a.len >= n && !memcmp(text, constant, n) && (a.len == n || !text[n])) ==
	       (node->op == EXPR_EQUAL);
}

/* Not inlined, to keep expr_is_true() short; the same below. */
static __attribute__((noinline)) bool compare_texts(
	struct expr_run *run, const struct expr_node *node)
{
	uint32_t absent = run->absent;
	size_t a_len, b_len;
	const char *a, *b;

	if (node->has_constant)
		return compare_constant(run, node);
	a = text_value(run, node->a, &a_len);
	b = text_value(run, node->b, &b_len);
	if (node->needs_fields && run->absent != absent)
		return false;
	if (node->op == EXPR_GLOB)
		return expr_glob(b, b_len, a, a_len) != node->is_inverted;
	return (a_len == b_len && !memcmp(a, b, a_len)) == (node->op == EXPR_EQUAL);
}

static __attribute__((noinline)) bool compare_reals(
	struct expr_run *run, const struct expr_node *node)
{
	uint32_t absent = run->absent;
	double a = real_value(run, expr_node(run->expr, node->a)),
	       b = real_value(run, expr_node(run->expr, node->b));

	if (node->needs_fields && run->absent != absent)
		return false;
	return COMPARE(node->op, a, b);
}

static bool evaluate_compare(struct expr_run *run, const struct expr_node *node)
{
	if (node->operand.kind == EXPR_CLASS_BYTES)
		return compare_texts(run, node);
	if (node->operand.kind == EXPR_CLASS_REAL)
		return compare_reals(run, node);
	return compare_numbers(run, node);
}

static inline bool in_range(struct expr_run *run, const struct expr_node *node)
{
	uint32_t absent = run->absent;
	uint64_t value = left(run, node);

	if (node->needs_fields && run->absent != absent)
		return false;
	return ((value & node->mask) - node->number <= node->span) != node->is_inverted;
}

static inline bool in_real_range(struct expr_run *run, const struct expr_node *node)
{
	uint32_t absent = run->absent;
	double value = load_real(run, expr_node(run->expr, node->a));

	if (node->needs_fields && run->absent != absent)
		return false;
	return (node->real <= value && value <= node->greatest) != node->is_inverted;
}

/* ---- nodes ---- */

static uint64_t chosen(struct expr_run *run, const struct expr_node *node)
{
	return expr_number(run, expr_is_true(run, node->a) ? node->b : node->c);
}

static uint64_t number(struct expr_run *run, const struct expr_node *node)
{
	switch ((enum expr_op)node->op) {
	case EXPR_NUMBER:
		return node->number;
	case EXPR_FIELD:
		return evaluate_load(run, node);
	case EXPR_JIFFIES:
		return jiffies();
	case EXPR_MEMBER:
		return member(run, node);
	case EXPR_VARIABLE:
		return variable(run, node).number;
	case EXPR_TRUNCATE:
		return expr_convert(truncated(run, node), node->type);
	case EXPR_SEQUENCE:
		expr_eval(run, node->a);
		return expr_number(run, node->b);
	case EXPR_CALL:
		return expr_convert(function_call(run, node).number, node->type);
	case EXPR_LENGTH:
		return field_bytes(run, node).len;
	case EXPR_INDEX:
		return address_element(run, node);
	case EXPR_DISTANCE:
		return address_distance(run, node);
	case EXPR_OFFSET:
		return address_offset(run, node);
	case EXPR_ASSIGN:
		return address_assign(run, node);
	case EXPR_STEP:
		return address_step(run, node);
	case EXPR_NEGATE:
		return expr_convert(0 - left(run, node), node->type);
	case EXPR_INVERT:
		return expr_convert(~left(run, node), node->type);
	case EXPR_CAST:
		return expr_convert(left(run, node), node->type);
	case EXPR_CHOOSE:
		return expr_convert(chosen(run, node), node->type);
	case EXPR_DIVIDE:
	case EXPR_REMAINDER:
		return expr_convert(divide(run, node), node->type);
	case EXPR_SHIFT_LEFT:
	case EXPR_SHIFT_RIGHT:
		return shift(run, node);
	case EXPR_MULTIPLY:
	case EXPR_ADD:
	case EXPR_SUBTRACT:
	case EXPR_BIT_AND:
	case EXPR_BIT_XOR:
	case EXPR_BIT_OR:
		return expr_convert(arithmetic(run, node), node->type);
	default: /* a name without a value, or for print_string() */
		return 0;
	}
}

uint64_t expr_number(struct expr_run *run, int32_t index)
{
	const struct expr_node *node = expr_node(run->expr, index);

	if (node->type.kind != EXPR_CLASS_NUMBER)
		return expr_eval(run, index).number;
	if (node->op >= EXPR_LESS && node->op <= EXPR_REAL_RANGE)
		return expr_is_true(run, index);
	return number(run, node);
}

struct expr_value expr_eval(struct expr_run *run, int32_t index)
{
	const struct expr_node *node = expr_node(run->expr, index);

	if (node->type.kind == EXPR_CLASS_NUMBER)
		return (struct expr_value){.number = expr_number(run, index)};
	switch ((enum expr_op)node->op) {
	case EXPR_STRING:
		return (struct expr_value){.bytes = (const uint8_t *)expr_text(run->expr, node),
			.len = node->text_len};
	case EXPR_BYTES:
		return field_bytes(run, node);
	case EXPR_ADDRESS:
		return address_of(run, node);
	case EXPR_MOVE:
		return address_move(run, node);
	case EXPR_VARIABLE:
		return variable(run, node);
	case EXPR_CALL:
		return function_call(run, node);
	case EXPR_SEQUENCE:
		expr_eval(run, node->a);
		return expr_eval(run, node->b);
	case EXPR_CAST:
		return expr_eval(run, node->a);
	case EXPR_CHOOSE:
		return expr_eval(run, expr_is_true(run, node->a) ? node->b : node->c);
	default: /* a floating-point number */
		return (struct expr_value){0};
	}
}

/* Whether the value of a node that is not an operator is true. */
static bool is_true(struct expr_run *run, const struct expr_node *node, int32_t index)
{
	struct expr_value v;

	switch ((enum expr_class)node->type.kind) {
	case EXPR_CLASS_NUMBER:
		return number(run, node) != 0;
	case EXPR_CLASS_REAL:
		return real_value(run, node) != 0;
	case EXPR_CLASS_BYTES:
		return true;
	case EXPR_CLASS_ANY:
		break;
	}
	v = expr_eval(run, index);
	return v.bytes || v.number;
}

bool expr_is_true(struct expr_run *run, int32_t index)
{
	for (;;) {
		const struct expr_node *node = expr_node(run->expr, index);

		switch ((enum expr_op)node->op) {
		case EXPR_RANGE:
			return in_range(run, node);
		case EXPR_REAL_RANGE:
			return in_real_range(run, node);
		case EXPR_AND:
			if (!expr_is_true(run, node->a))
				return false;
			index = node->b;
			continue;
		case EXPR_OR:
			if (expr_is_true(run, node->a))
				return true;
			index = node->b;
			continue;
		case EXPR_NOT:
			return !expr_is_true(run, node->a);
		case EXPR_LESS:
		case EXPR_LESS_EQUAL:
		case EXPR_GREATER:
		case EXPR_GREATER_EQUAL:
		case EXPR_EQUAL:
		case EXPR_NOT_EQUAL:
		case EXPR_GLOB:
			return evaluate_compare(run, node);
		default:
			return is_true(run, node, index);
		}
	}
}
