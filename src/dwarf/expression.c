/* SPDX-License-Identifier: MIT */
#include "dwarf/expression.h"

#include "dwarf/cursor.h"

enum {
	DW_OP_addr = 0x03,
	DW_OP_deref = 0x06,
	DW_OP_const1u = 0x08,
	DW_OP_const1s = 0x09,
	DW_OP_const2u = 0x0a,
	DW_OP_const2s = 0x0b,
	DW_OP_const4u = 0x0c,
	DW_OP_const4s = 0x0d,
	DW_OP_const8u = 0x0e,
	DW_OP_const8s = 0x0f,
	DW_OP_constu = 0x10,
	DW_OP_consts = 0x11,
	DW_OP_dup = 0x12,
	DW_OP_drop = 0x13,
	DW_OP_over = 0x14,
	DW_OP_pick = 0x15,
	DW_OP_swap = 0x16,
	DW_OP_rot = 0x17,
	DW_OP_abs = 0x19,
	DW_OP_and = 0x1a,
	DW_OP_div = 0x1b,
	DW_OP_minus = 0x1c,
	DW_OP_mod = 0x1d,
	DW_OP_mul = 0x1e,
	DW_OP_neg = 0x1f,
	DW_OP_not = 0x20,
	DW_OP_or = 0x21,
	DW_OP_plus = 0x22,
	DW_OP_plus_uconst = 0x23,
	DW_OP_shl = 0x24,
	DW_OP_shr = 0x25,
	DW_OP_shra = 0x26,
	DW_OP_xor = 0x27,
	DW_OP_bra = 0x28,
	DW_OP_eq = 0x29,
	DW_OP_ge = 0x2a,
	DW_OP_gt = 0x2b,
	DW_OP_le = 0x2c,
	DW_OP_lt = 0x2d,
	DW_OP_ne = 0x2e,
	DW_OP_skip = 0x2f,
	DW_OP_lit0 = 0x30,
	DW_OP_lit31 = 0x4f,
	DW_OP_breg0 = 0x70,
	DW_OP_breg31 = 0x8f,
	DW_OP_bregx = 0x92,
	DW_OP_deref_size = 0x94,
	DW_OP_nop = 0x96,
};

enum { STACK_MAX = 64, STEPS_MAX = 1000 };

struct machine {
	const struct expression_input *input;
	const uint8_t *start;
	struct cursor c;
	uint64_t stack[STACK_MAX];
	unsigned n;
	int error;
};

static void fail(struct machine *m, int error)
{
	m->error = m->error ?: error;
}

static void expression_push(struct machine *m, uint64_t value)
{
	if (m->n == STACK_MAX)
		fail(m, -EBADMSG);
	else
		m->stack[m->n++] = value;
}

static uint64_t expression_pop(struct machine *m)
{
	if (m->n)
		return m->stack[--m->n];
	fail(m, -EBADMSG);
	return 0;
}

/* The value at depth i below the top. */
static uint64_t peek(struct machine *m, unsigned i)
{
	if (i < m->n)
		return m->stack[m->n - 1 - i];
	fail(m, -EBADMSG);
	return 0;
}

static void push_register(struct machine *m, uint64_t number, int64_t offset)
{
	if (number >= 64 || !(m->input->known >> number & 1)) {
		fail(m, -ENODATA);
		return;
	}
	expression_push(m, m->input->registers[number] + (uint64_t)offset);
}

static void deref(struct machine *m, size_t size)
{
	uint64_t value = 0, address = expression_pop(m);

	if (!size || size > 8)
		fail(m, -EBADMSG);
	else if (!m->error && !m->input->read(m->input->ctx, address, size, &value))
		fail(m, -ENODATA);
	expression_push(m, value);
}

static void jump(struct machine *m, bool taken)
{
	int64_t delta = cursor_signed(&m->c, 2), at = m->c.at - m->start + delta;

	if (!taken)
		return;
	if (at < 0 || at > m->c.end - m->start)
		fail(m, -EBADMSG);
	else
		m->c.at = m->start + at;
}

static void divide(struct machine *m, bool modulo)
{
	uint64_t b = expression_pop(m), a = expression_pop(m);

	if (!b)
		fail(m, -EBADMSG);
	else if (modulo)
		expression_push(m, a % b);
	else
		expression_push(m, (int64_t)b == -1 ? -a : (uint64_t)((int64_t)a / (int64_t)b));
}

static uint64_t shift(uint8_t op, uint64_t a, uint64_t b)
{
	if (op == DW_OP_shl)
		return b < 64 ? a << b : 0;
	if (op == DW_OP_shr)
		return b < 64 ? a >> b : 0;
	return (uint64_t)((int64_t)a >> MIN(b, (uint64_t)63));
}

static void binary(struct machine *m, uint8_t op)
{
	uint64_t b = expression_pop(m), a = expression_pop(m);
	int64_t y = (int64_t)b, x = (int64_t)a;

	switch (op) {
	case DW_OP_and:
		expression_push(m, a & b);
		break;
	case DW_OP_minus:
		expression_push(m, a - b);
		break;
	case DW_OP_mul:
		expression_push(m, a * b);
		break;
	case DW_OP_or:
		expression_push(m, a | b);
		break;
	case DW_OP_plus:
		expression_push(m, a + b);
		break;
	case DW_OP_xor:
		expression_push(m, a ^ b);
		break;
	case DW_OP_eq:
		expression_push(m, x == y);
		break;
	case DW_OP_ge:
		expression_push(m, x >= y);
		break;
	case DW_OP_gt:
		expression_push(m, x > y);
		break;
	case DW_OP_le:
		expression_push(m, x <= y);
		break;
	case DW_OP_lt:
		expression_push(m, x < y);
		break;
	case DW_OP_ne:
		expression_push(m, x != y);
		break;
	default:
		expression_push(m, shift(op, a, b));
	}
}

static void rotate(struct machine *m)
{
	uint64_t a = expression_pop(m), b = expression_pop(m), c = expression_pop(m);

	expression_push(m, a);
	expression_push(m, c);
	expression_push(m, b);
}

static void swap_top(struct machine *m)
{
	uint64_t a = expression_pop(m), b = expression_pop(m);

	expression_push(m, a);
	expression_push(m, b);
}

static void absolute(struct machine *m)
{
	uint64_t a = expression_pop(m);

	expression_push(m, (int64_t)a < 0 ? -a : a);
}

/* Operations that push a constant. False: op is another one. */
static bool push_constant(struct machine *m, uint8_t op)
{
	struct cursor *c = &m->c;

	if (op >= DW_OP_const1u && op <= DW_OP_const8s) { /* of 1, 1, 2, 2, 4, 4, 8, 8 bytes */
		size_t size = 1U << (op - DW_OP_const1u) / 2;

		if ((op - DW_OP_const1u) % 2)
			expression_push(m, (uint64_t)cursor_signed(c, size));
		else
			expression_push(m, cursor_number(c, size));
	} else if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		expression_push(m, op - DW_OP_lit0);
	} else if (op == DW_OP_addr) {
		expression_push(m, cursor_number(c, 8));
	} else if (op == DW_OP_constu) {
		expression_push(m, cursor_uleb(c));
	} else if (op == DW_OP_consts) {
		expression_push(m, (uint64_t)cursor_sleb(c));
	} else {
		return false;
	}
	return true;
}

/* Operations that push a register with an offset. False: op is another one. */
static bool push_based(struct machine *m, uint8_t op)
{
	uint64_t reg = op - DW_OP_breg0;

	if (op == DW_OP_bregx)
		reg = cursor_uleb(&m->c);
	else if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return false;
	push_register(m, reg, cursor_sleb(&m->c));
	return true;
}

/* Operations that move, copy or remove values of the stack. False: op is another one. */
static bool rearrange(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_OP_dup:
		expression_push(m, peek(m, 0));
		return true;
	case DW_OP_drop:
		expression_pop(m);
		return true;
	case DW_OP_over:
		expression_push(m, peek(m, 1));
		return true;
	case DW_OP_pick:
		expression_push(m, peek(m, cursor_u8(&m->c)));
		return true;
	case DW_OP_swap:
		swap_top(m);
		return true;
	case DW_OP_rot:
		rotate(m);
		return true;
	default:
		return false;
	}
}

/* Operations that replace the value on the top of the stack. False: op is another one. */
static bool unary(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_OP_deref:
		deref(m, 8);
		return true;
	case DW_OP_deref_size:
		deref(m, cursor_u8(&m->c));
		return true;
	case DW_OP_abs:
		absolute(m);
		return true;
	case DW_OP_neg:
		expression_push(m, -expression_pop(m));
		return true;
	case DW_OP_not:
		expression_push(m, ~expression_pop(m));
		return true;
	case DW_OP_plus_uconst:
		expression_push(m, expression_pop(m) + cursor_uleb(&m->c));
		return true;
	default:
		return false;
	}
}

static void expression_step(struct machine *m, uint8_t op)
{
	if (push_constant(m, op) || push_based(m, op) || rearrange(m, op) || unary(m, op))
		return;
	switch (op) {
	case DW_OP_div:
	case DW_OP_mod:
		divide(m, op == DW_OP_mod);
		break;
	case DW_OP_and:
	case DW_OP_minus:
	case DW_OP_mul:
	case DW_OP_or:
	case DW_OP_plus:
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
	case DW_OP_xor:
	case DW_OP_eq:
	case DW_OP_ge:
	case DW_OP_gt:
	case DW_OP_le:
	case DW_OP_lt:
	case DW_OP_ne:
		binary(m, op);
		break;
	case DW_OP_skip:
		jump(m, true);
		break;
	case DW_OP_bra:
		jump(m, expression_pop(m) != 0);
		break;
	case DW_OP_nop:
		break;
	default:
		fail(m, -EBADMSG);
	}
}

int expression_evaluate(const uint8_t *bytes, size_t n, const uint64_t *first,
	const struct expression_input *input, uint64_t *ret_value)
{
	struct machine m = {.input = input, .start = bytes, .c = {.at = bytes, .end = bytes + n}};

	if (first)
		expression_push(&m, *first);
	for (int steps = 0; !m.error && m.c.at < m.c.end; steps++) {
		expression_step(&m, cursor_u8(&m.c));
		if (m.c.failed || steps > STEPS_MAX)
			fail(&m, -EBADMSG);
	}
	if (!m.error)
		*ret_value = expression_pop(&m);
	return m.error;
}
