/* SPDX-License-Identifier: MIT */
/* Evaluate expressions of print formats by the rules of C: promotion, width, sign. */
#include <time.h>

#include "expr/print.h"

static struct print_value number_value(uint64_t number, unsigned bits, bool is_signed)
{
	struct print_value v = {.bits = (uint8_t)bits, .is_signed = is_signed};

	if (bits < 64) {
		number &= (1ULL << bits) - 1;
		if (is_signed && number >> (bits - 1))
			number |= ~0ULL << bits;
	}
	v.number = number;
	return v;
}

static struct print_value bytes_value(const void *bytes, size_t len, unsigned element, bool is_text)
{
	return (struct print_value){.bytes = bytes,
		.len = bytes ? len : 0,
		.element = (uint8_t)(element ? element : 1),
		.is_text = is_text,
		.bits = 64};
}

/* ---- fields ---- */

static struct print_value field_bytes(const struct print_run *run, const struct attar_field *f)
{
	size_t len;
	const void *bytes = run->raw ? attar_field_bytes(f, run->raw, run->size, &len) : NULL;
	struct print_value v;

	if (!bytes)
		return bytes_value("", 0, 1, f->kind == ATTAR_FIELD_STRING);
	v = bytes_value(bytes, len, f->element, f->kind == ATTAR_FIELD_STRING);
	v.is_signed = f->is_signed;
	return v;
}

static struct print_value field_value(const struct print_run *run, const struct attar_field *f)
{
	if (f->kind != ATTAR_FIELD_NUMBER)
		return field_bytes(run, f);
	return number_value(
		run->raw ? attar_field_u64(f, run->raw, run->size) : 0, f->size * 8U, f->is_signed);
}

/* The location of a field of any kind: for %pI4 and similar conversions. */
static struct print_value field_address(const struct print_run *run, const struct attar_field *f)
{
	if (!run->raw || (size_t)f->offset + f->size > run->size)
		return bytes_value("", 0, 1, false);
	return bytes_value(
		run->raw + f->offset, f->size, f->element, f->kind == ATTAR_FIELD_STRING);
}

static struct print_value element_value(struct print_value array, uint64_t index)
{
	struct attar_field f = {.size = array.element, .is_signed = array.is_signed};

	if (!array.bytes || array.element > 8 || index >= array.len / array.element)
		return number_value(0, 32, true);
	return number_value(attar_field_u64(&f, array.bytes + index * array.element, array.element),
		array.element * 8U, array.is_signed);
}

/* ---- operators ---- */

static struct print_value promote(struct print_value v)
{
	if (v.bits < 32) {
		v.bits = 32;
		v.is_signed = true;
	}
	return v;
}

static uint64_t divide(uint64_t a, uint64_t b, bool is_signed, bool rest)
{
	if (!b)
		return 0; /* avoids a division trap */
	if (!is_signed)
		return rest ? a % b : a / b;
	if ((int64_t)b == -1)
		return rest ? 0 : 0 - a;
	return (uint64_t)(rest ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
}

static bool less(uint64_t a, uint64_t b, bool is_signed)
{
	return is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static struct print_value shift(unsigned token, struct print_value a, uint64_t by)
{
	uint64_t n = a.number;

	if (by >= a.bits)
		n = 0;
	else if (token == TOKEN_SHL)
		n <<= by;
	else
		n = a.is_signed ? (uint64_t)((int64_t)n >> by) : n >> by;
	return number_value(n, a.bits, a.is_signed);
}

static uint64_t combine(unsigned token, uint64_t a, uint64_t b, bool is_signed)
{
	switch (token) {
	case '*':
		return a * b;
	case '/':
	case '%':
		return divide(a, b, is_signed, token == '%');
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '&':
		return a & b;
	case '^':
		return a ^ b;
	default:
		return a | b;
	}
}

static bool compare(unsigned token, uint64_t a, uint64_t b, bool is_signed, bool *ret_result)
{
	switch (token) {
	case '<':
		*ret_result = less(a, b, is_signed);
		return true;
	case '>':
		*ret_result = less(b, a, is_signed);
		return true;
	case TOKEN_LE:
		*ret_result = !less(b, a, is_signed);
		return true;
	case TOKEN_GE:
		*ret_result = !less(a, b, is_signed);
		return true;
	case TOKEN_EQ:
		*ret_result = a == b;
		return true;
	case TOKEN_NE:
		*ret_result = a != b;
		return true;
	}
	return false;
}

static bool is_true(struct print_value v)
{
	return v.bytes || v.number;
}

static struct print_value binary_value(const struct print_run *run, const struct print_node *node)
{
	struct print_value a = promote(print_eval(run, node->a)), b;
	unsigned bits;
	bool is_signed, truth;

	if (node->token == TOKEN_AND || node->token == TOKEN_OR) {
		truth = is_true(a);
		if (truth == (node->token == TOKEN_AND))
			truth = is_true(print_eval(run, node->b));
		return number_value(truth, 32, true);
	}
	b = promote(print_eval(run, node->b));
	if (node->token == TOKEN_SHL || node->token == TOKEN_SHR)
		return shift(node->token, a, b.number);
	bits = MAX(a.bits, b.bits);
	is_signed = (a.is_signed || a.bits < bits) && (b.is_signed || b.bits < bits);
	a = number_value(a.number, bits, is_signed);
	b = number_value(b.number, bits, is_signed);
	if (compare(node->token, a.number, b.number, is_signed, &truth))
		return number_value(truth, 32, true);
	return number_value(combine(node->token, a.number, b.number, is_signed), bits, is_signed);
}

static struct print_value cast_value(const struct print_run *run, const struct print_node *node)
{
	struct print_value v = print_eval(run, node->a);

	if (node->is_pointer && v.bytes && node->element) {
		v.element = node->element;
		v.is_text &= node->element == 1;
		return v;
	}
	if (node->is_pointer)
		return v.bytes ? v : number_value(v.number, 64, false);
	if (v.bytes || !node->bits)
		return v;
	return number_value(v.number, node->bits, node->is_signed);
}

static struct print_value negative(struct print_value v, enum print_op op)
{
	v = promote(v);
	return number_value(op == PRINT_NEGATE ? 0 - v.number : ~v.number, v.bits, v.is_signed);
}

static struct print_value part_of_time(struct print_value v, bool seconds)
{
	return number_value(seconds ? v.number / 1000000000 : v.number % 1000000000, 64, false);
}

/*
 * The kernel's own trace files also use the value at the time of printing. 64-bit kernels start the
 * counter 300 s before 2^32 (INITIAL_JIFFIES); the first tick comes some ms after the clock's 0, so
 * this is a little ahead and differences to earlier values are never negative.
 */
static struct print_value jiffies_value(void)
{
	struct timespec tick; /* the resolution of the coarse clock is the period of the tick */
	uint64_t period, hz;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) < 0 || tick.tv_nsec <= 0)
		return number_value(0, 64, false);
	period = (uint64_t)tick.tv_nsec;
	hz = (1000000000 + period / 2) / period;
	return number_value((uint32_t)(0 - 300 * hz) + base_now() / period, 64, false);
}

struct print_value print_eval(const struct print_run *run, int32_t index)
{
	const struct print_node *node = &run->program->nodes.at[index];
	struct print_value v;

	switch ((enum print_op)node->op) {
	case PRINT_NUMBER:
		return number_value(node->number, node->bits, node->is_signed);
	case PRINT_STRING:
		return bytes_value(node->text, strlen(node->text), 1, true);
	case PRINT_FIELD:
		return field_value(run, node->field);
	case PRINT_ADDRESS:
		return field_address(run, node->field);
	case PRINT_DYNAMIC:
		return field_bytes(run, node->field);
	case PRINT_LENGTH:
		return number_value(field_bytes(run, node->field).len, 32, true);
	case PRINT_INDEX:
		v = print_eval(run, node->a);
		return element_value(v, print_eval(run, node->b).number);
	case PRINT_DEREF:
		return element_value(print_eval(run, node->a), 0);
	case PRINT_NEGATE:
	case PRINT_INVERT:
		return negative(print_eval(run, node->a), node->op);
	case PRINT_NOT:
		return number_value(!is_true(print_eval(run, node->a)), 32, true);
	case PRINT_CAST:
		return cast_value(run, node);
	case PRINT_BINARY:
		return binary_value(run, node);
	case PRINT_CHOOSE:
		return print_eval(run, is_true(print_eval(run, node->a)) ? node->b : node->c);
	case PRINT_SECONDS:
	case PRINT_REST_NS:
		return part_of_time(print_eval(run, node->a), node->op == PRINT_SECONDS);
	case PRINT_JIFFIES:
		return jiffies_value();
	case PRINT_UNKNOWN:
	case PRINT_SYMBOLIC:
	case PRINT_FLAGS:
	case PRINT_ENTRY:
	case PRINT_HEX:
	case PRINT_HEX_STR:
	case PRINT_ARRAY:
	case PRINT_BITMASK:
		break;
	}
	return number_value(0, 64, false);
}

bool print_is_true(const struct print_run *run, int32_t index)
{
	return is_true(print_eval(run, index));
}
