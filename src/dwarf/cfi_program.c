/* SPDX-License-Identifier: MIT */
#include "dwarf/cfi_program.h"

enum {
	DW_CFA_nop = 0x00,
	DW_CFA_set_loc = 0x01,
	DW_CFA_advance_loc1 = 0x02,
	DW_CFA_advance_loc2 = 0x03,
	DW_CFA_advance_loc4 = 0x04,
	DW_CFA_offset_extended = 0x05,
	DW_CFA_restore_extended = 0x06,
	DW_CFA_undefined = 0x07,
	DW_CFA_same_value = 0x08,
	DW_CFA_register = 0x09,
	DW_CFA_remember_state = 0x0a,
	DW_CFA_restore_state = 0x0b,
	DW_CFA_def_cfa = 0x0c,
	DW_CFA_def_cfa_register = 0x0d,
	DW_CFA_def_cfa_offset = 0x0e,
	DW_CFA_def_cfa_expression = 0x0f,
	DW_CFA_expression = 0x10,
	DW_CFA_offset_extended_sf = 0x11,
	DW_CFA_def_cfa_sf = 0x12,
	DW_CFA_def_cfa_offset_sf = 0x13,
	DW_CFA_val_offset = 0x14,
	DW_CFA_val_offset_sf = 0x15,
	DW_CFA_val_expression = 0x16,
	DW_CFA_AARCH64_negate_ra_state = 0x2d, /* also DW_CFA_GNU_window_save of SPARC */
	DW_CFA_GNU_args_size = 0x2e,
	DW_CFA_GNU_negative_offset_extended = 0x2f,
	DW_CFA_advance_loc = 0x40, /* from here on the lower 6 bits are an operand */
	DW_CFA_offset = 0x80,
	DW_CFA_restore = 0xc0,
};

enum { REMEMBERED_MAX = 32, VALUE_MAX = (1 << 22) - 1 };

struct state {
	bool cfa_expression;
	uint8_t cfa_reg;
	int64_t cfa_offset;
	uint8_t n;        /* registers whose rule is not CFI_SAME */
	uint32_t changed; /* the same registers, as bits */
	uint64_t hash;    /* the sum of cfi_rule_hash() of their rules */
	struct cfi_rule rules[CFI_REGISTERS];
};

struct program {
	struct cfi_builder *b;
	const struct cfi_cie *cie;
	struct cursor c;
	struct state now, initial;
	int depth;
	uint64_t vaddr, end; /* of the current row; of the function */
	int64_t to_offset;   /* added to an address gives the file offset */
	uint64_t wanted;     /* rows before the row of this address are left out */
	bool one, done;      /* only one row is wanted; it was added */
	bool bad;
	struct state remembered[REMEMBERED_MAX]; /* the first `depth`; others are not set */
};

/* ---- rows ---- */

/* The rules of the current state: their number, 0 for none, or -ENOMEM. */
static int intern_rules(struct program *p)
{
	union {
		struct cfi_rules rules;
		uint32_t words[2 + CFI_REGISTERS];
	} u;
	int number;

	if (p->now.cfa_offset != (int32_t)p->now.cfa_offset)
		return 0;
	u.words[0] = u.words[1] = 0; /* also the bits between the members: rules are compared */
	u.rules.cfa_reg = p->now.cfa_reg;
	u.rules.cfa_expression = p->now.cfa_expression;
	u.rules.cfa_offset = (int32_t)p->now.cfa_offset;
	u.rules.return_reg = (uint8_t)p->cie->return_reg;
	u.rules.is_signal = p->cie->is_signal;
	u.rules.n = p->now.n;
	number = cfi_builder_find(p->b, &u.rules, p->now.hash, p->now.rules);
	if (likely(number))
		return number;
	for (uint32_t i = 0, left = p->now.changed; left; left &= left - 1)
		u.rules.rules[i++] = p->now.rules[__builtin_ctz(left)];
	return cfi_builder_rules(p->b, &u.rules);
}

/* Adds a row for [p->vaddr, to) if it is wanted. */
static int add_row(struct program *p, uint64_t to)
{
	int number;

	if (to < p->vaddr || to > p->end) {
		p->bad = true;
		return 0;
	}
	if (to == p->vaddr)
		return 0;
	if (to <= p->wanted) {
		p->vaddr = to;
		return 0;
	}
	number = intern_rules(p);
	if (number < 0)
		return number;
	if (vec_push(&p->b->rows,
		    (struct cfi_row){.start = (uint32_t)(p->vaddr + (uint64_t)p->to_offset),
			    .rules = (uint16_t)number}) < 0)
		return base_oom();
	p->vaddr = to;
	p->done = p->one;
	return 0;
}

/* ---- instructions ---- */

static void assign(struct state *now, uint64_t reg, struct cfi_rule rule)
{
	uint32_t bit = 1U << reg;

	if (now->changed & bit) {
		now->changed &= ~bit;
		now->hash -= cfi_rule_hash(now->rules[reg]);
		now->n--;
	}
	now->rules[reg] = rule;
	if (rule.how == CFI_SAME)
		return;
	now->changed |= bit;
	now->hash += cfi_rule_hash(rule);
	now->n++;
}

/* Rules of registers that are not kept are ignored. */
static void set_rule(struct program *p, uint64_t reg, enum cfi_how how, int64_t value)
{
	if (reg >= CFI_REGISTERS)
		return;
	if (value > VALUE_MAX || value < -VALUE_MAX)
		how = CFI_UNDEFINED;
	assign(&p->now, reg,
		(struct cfi_rule){.reg = reg & 63,
			.how = how,
			.value = how == CFI_UNDEFINED ? 0 : (int32_t)value});
}

static void restore_rule(struct program *p, uint64_t reg)
{
	if (reg < CFI_REGISTERS)
		assign(&p->now, reg, p->initial.rules[reg]);
}

static int take_expression(struct program *p, int *ret_number)
{
	uint64_t size = cursor_uleb(&p->c);
	const uint8_t *bytes = cursor_take(&p->c, size);

	*ret_number = bytes ? cfi_builder_expression(p->b, bytes, size) : -E2BIG;
	if (*ret_number == -ENOMEM)
		return -ENOMEM;
	p->bad |= *ret_number < 0;
	return 0;
}

static int rule_expression(struct program *p, uint64_t reg, enum cfi_how how)
{
	int number, r = take_expression(p, &number);

	if (r == 0 && number >= 0)
		set_rule(p, reg, how, number);
	return r;
}

static int cfa_expression(struct program *p)
{
	int number, r = take_expression(p, &number);

	p->now.cfa_expression = true;
	p->now.cfa_reg = 0;
	p->now.cfa_offset = number;
	return r;
}

static void define_cfa(struct program *p, uint64_t reg, int64_t offset)
{
	p->bad |= reg >= CFI_REGISTERS;
	p->now.cfa_expression = false;
	p->now.cfa_reg = (uint8_t)reg;
	p->now.cfa_offset = offset;
}

static void remember(struct program *p)
{
	if (p->depth == REMEMBERED_MAX)
		p->bad = true;
	else
		p->remembered[p->depth++] = p->now;
}

static void recall(struct program *p)
{
	if (!p->depth)
		p->bad = true;
	else
		p->now = p->remembered[--p->depth];
}

static int set_location(struct program *p)
{
	uint8_t encoding = p->cie->pointer_encoding;

	/* relative to its own address, which is not known here */
	if ((encoding & DW_EH_PE_base) == DW_EH_PE_pcrel) {
		p->bad = true;
		return 0;
	}
	return add_row(p, cursor_pointer(&p->c, encoding, 0, p->cie->address_size));
}

/* An offset in units of the data alignment. Wraps: the product of two numbers of the file. */
static int64_t factored(const struct program *p, uint64_t n)
{
	return (int64_t)(n * (uint64_t)p->cie->data_align);
}

#define FACTORED() factored(p, cursor_uleb(&p->c))
#define SIGNED()   factored(p, (uint64_t)cursor_sleb(&p->c))

static int advance(struct program *p, uint64_t delta)
{
	return add_row(p, p->vaddr + delta * p->cie->code_align);
}

/* Instructions that begin the next row. False: op is another one. */
static bool run_advance(struct program *p, uint8_t op, int *ret_r)
{
	switch (op) {
	case DW_CFA_set_loc:
		*ret_r = set_location(p);
		return true;
	case DW_CFA_advance_loc1:
		*ret_r = advance(p, cursor_number(&p->c, 1));
		return true;
	case DW_CFA_advance_loc2:
		*ret_r = advance(p, cursor_number(&p->c, 2));
		return true;
	case DW_CFA_advance_loc4:
		*ret_r = advance(p, cursor_number(&p->c, 4));
		return true;
	default:
		return false;
	}
}

/* The CFA. False: op is another one. */
static bool run_cfa(struct program *p, uint8_t op, int *ret_r)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = cursor_uleb(&p->c);
		define_cfa(p, reg, (int64_t)cursor_uleb(&p->c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = cursor_uleb(&p->c);
		define_cfa(p, reg, SIGNED());
		return true;
	case DW_CFA_def_cfa_register:
		define_cfa(p, cursor_uleb(&p->c), p->now.cfa_offset);
		return true;
	case DW_CFA_def_cfa_offset:
		p->now.cfa_offset = (int64_t)cursor_uleb(&p->c);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		p->now.cfa_offset = SIGNED();
		return true;
	case DW_CFA_def_cfa_expression:
		*ret_r = cfa_expression(p);
		return true;
	default:
		return false;
	}
}

/* How the value of a register is found; its number is the first operand. False: op is another. */
static bool run_rule(struct program *p, uint8_t op, int *ret_r)
{
	struct cursor before = p->c;
	uint64_t reg = cursor_uleb(&p->c);

	switch (op) {
	case DW_CFA_offset_extended:
		set_rule(p, reg, CFI_AT_CFA, FACTORED());
		return true;
	case DW_CFA_offset_extended_sf:
		set_rule(p, reg, CFI_AT_CFA, SIGNED());
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		set_rule(p, reg, CFI_AT_CFA, factored(p, -cursor_uleb(&p->c)));
		return true;
	case DW_CFA_val_offset:
		set_rule(p, reg, CFI_IS_CFA, FACTORED());
		return true;
	case DW_CFA_val_offset_sf:
		set_rule(p, reg, CFI_IS_CFA, SIGNED());
		return true;
	case DW_CFA_restore_extended:
		restore_rule(p, reg);
		return true;
	case DW_CFA_undefined:
		set_rule(p, reg, CFI_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		set_rule(p, reg, CFI_SAME, 0);
		return true;
	case DW_CFA_register:
		set_rule(p, reg, CFI_REGISTER, (int64_t)cursor_uleb(&p->c));
		return true;
	case DW_CFA_expression:
		*ret_r = rule_expression(p, reg, CFI_AT_EXPRESSION);
		return true;
	case DW_CFA_val_expression:
		*ret_r = rule_expression(p, reg, CFI_IS_EXPRESSION);
		return true;
	default:
		p->c = before;
		return false;
	}
}

/* Instructions whose operands follow. */
static int run_extended(struct program *p, uint8_t op)
{
	int r = 0;

	if (run_cfa(p, op, &r) || run_advance(p, op, &r))
		return r;
	switch (op) {
	case DW_CFA_nop:
	/* Return addresses are signed or not: the signature is removed from all of them. */
	case DW_CFA_AARCH64_negate_ra_state:
		break;
	case DW_CFA_remember_state:
		remember(p);
		break;
	case DW_CFA_restore_state:
		recall(p);
		break;
	case DW_CFA_GNU_args_size:
		cursor_uleb(&p->c);
		break;
	default:
		if (!run_rule(p, op, &r))
			p->bad = true;
	}
	return r;
}

static int run_one(struct program *p)
{
	uint8_t op = cursor_u8(&p->c), operand = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(p, operand);
	case DW_CFA_offset:
		set_rule(p, operand, CFI_AT_CFA, FACTORED());
		return 0;
	case DW_CFA_restore:
		restore_rule(p, operand);
		return 0;
	default:
		return run_extended(p, op);
	}
}

static int run(struct program *p, const struct cursor *instructions)
{
	int r = 0;

	p->c = *instructions;
	while (r == 0 && !p->bad && !p->done && p->c.at < p->c.end)
		r = run_one(p);
	p->bad |= p->c.failed;
	return r;
}

static void init(struct program *p, struct cfi_builder *b, const struct cfi_cie *cie,
	uint64_t vaddr, uint64_t size)
{
	memset(p, 0, offsetof(struct program, remembered));
	p->b = b;
	p->cie = cie;
	p->vaddr = vaddr;
	p->end = vaddr + size;
}

/* Runs the instructions of the CIE and of a function. Returns 0, -EBADMSG or -ENOMEM. */
static int run_function(struct program *p, const struct cursor *instructions)
{
	uint64_t vaddr = p->vaddr;
	int r = run(p, &p->cie->instructions);

	p->initial = p->now;
	p->bad |= p->vaddr != vaddr; /* a CIE has no locations */
	if (r == 0 && !p->bad)
		r = run(p, instructions);
	if (r == 0 && !p->bad && !p->done)
		r = add_row(p, p->end);
	return r < 0 ? r : p->bad ? -EBADMSG : 0;
}

int cfi_program_run(struct cfi_builder *b, const struct cfi_cie *cie,
	const struct cursor *instructions, uint64_t vaddr, uint64_t size, uint64_t file_offset)
{
	struct program p;
	struct cfi_function function = {.start = (uint32_t)file_offset,
		.end = (uint32_t)(file_offset + size),
		.first = (uint32_t)b->rows.n};
	int r;

	init(&p, b, cie, vaddr, size);
	p.to_offset = (int64_t)(file_offset - vaddr);
	r = run_function(&p, instructions);
	function.n = (uint32_t)b->rows.n - function.first;
	if (r == 0 && vec_push(&b->functions, function) < 0)
		r = base_oom();
	if (r < 0)
		b->rows.n = function.first;
	return r;
}

int cfi_program_find(struct cfi_builder *b, const struct cfi_cie *cie, struct cursor *instructions,
	uint64_t vaddr, uint64_t size, uint64_t address, struct cfi_span *ret_span)
{
	struct program p;
	size_t first = b->rows.n;
	int r;

	init(&p, b, cie, vaddr, size);
	p.to_offset = -(int64_t)vaddr;
	p.wanted = address;
	p.one = true;
	r = run_function(&p, instructions);
	*instructions = p.c;
	if (r == 0 && !p.done)
		r = -EBADMSG;
	if (r == 0) {
		*ret_span = (struct cfi_span){vaddr + b->rows.at[first].start, p.vaddr};
		r = b->rows.at[first].rules;
	}
	b->rows.n = first;
	return r;
}
