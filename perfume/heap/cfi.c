/* SPDX-License-Identifier: CC0-1.0 */
#include "cfi.h"

#ifdef __x86_64__

#include <string.h>

enum {
	DEPTH = 8, /* of DW_CFA_remember_state */
	REG_RBX = 3,
	REG_RBP = 6,
	REG_RSP = 7,
	REG_R12 = 12,
	REG_PC = 16,
	OP_DEREF = 0x06,
	OP_BREG0 = 0x70,
	ENC_OMIT = 0xff,
	ENC_INDIRECT = 0x80,
	ENC_PCREL = 0x10,
	ENC_DATAREL_SDATA4 = 0x3b,
};

struct cursor {
	const uint8_t *at, *end;
};

/* The register in a rule; -1: it is not needed. */
static int number_of(uint64_t dwarf)
{
	switch (dwarf) {
	case REG_RBX:
		return CFI_RBX;
	case REG_RBP:
		return CFI_RBP;
	case REG_RSP:
		return CFI_RSP;
	}
	return dwarf >= REG_R12 && dwarf < REG_PC ? (int)(CFI_R12 + dwarf - REG_R12) : -1;
}

/* ---- values ---- */

static uint64_t take(struct cursor *c, size_t size)
{
	uint64_t value = 0;

	if ((size_t)(c->end - c->at) < size) {
		c->at = c->end;
		return 0;
	}
	memcpy(&value, c->at, size);
	c->at += size;
	return value;
}

static uint64_t take_uleb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; c->at < c->end; shift += 7) {
		uint8_t byte = *c->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

static int64_t take_sleb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte = 0;

	while (c->at < c->end) {
		byte = *c->at++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80))
			break;
	}
	if (byte & 0x40 && shift < 64)
		value |= ~UINT64_C(0) << shift;
	return (int64_t)value;
}

/* An address in an encoding of .eh_frame. */
static uint64_t take_encoded(struct cursor *c, uint8_t encoding)
{
	const uint64_t place = (uintptr_t)c->at;
	uint64_t value;

	switch (encoding & 0x0f) {
	case 0x01:
		value = take_uleb(c);
		break;
	case 0x02:
		value = take(c, 2);
		break;
	case 0x03:
		value = take(c, 4);
		break;
	case 0x09:
		value = (uint64_t)take_sleb(c);
		break;
	case 0x0a:
		value = (uint64_t)(int16_t)take(c, 2);
		break;
	case 0x0b:
		value = (uint64_t)(int32_t)take(c, 4);
		break;
	default:
		value = take(c, 8);
	}
	return (encoding & 0x70) == ENC_PCREL ? value + place : value;
}

/* ---- instructions ---- */

struct state {
	struct cfi_rule rule;
	int bad; /* something that a rule cannot express */
};

struct program {
	uint64_t pc, location;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	struct state now, initial, stack[DEPTH];
	unsigned depth;
};

static void put_saved(struct program *p, uint64_t dwarf, int64_t offset)
{
	int number = dwarf == REG_PC ? CFI_PC_SAVED : number_of(dwarf);

	if (number < 0 || (number == CFI_RSP && dwarf != REG_PC))
		return;
	if (offset % 8 || offset / 8 <= INT16_MIN || offset / 8 > INT16_MAX)
		p->now.bad = 1;
	else
		p->now.rule.saved[number] = (int16_t)(offset / 8);
}

static void put_initial(struct program *p, uint64_t dwarf)
{
	int number = dwarf == REG_PC ? CFI_PC_SAVED : number_of(dwarf);

	if (number >= 0 && (number != CFI_RSP || dwarf == REG_PC))
		p->now.rule.saved[number] = p->initial.rule.saved[number];
}

static void put_cfa(struct program *p, uint64_t dwarf, int64_t offset, enum cfi_kind kind)
{
	int number = number_of(dwarf);

	p->now.bad |= number < 0 || offset < INT32_MIN || offset > INT32_MAX;
	p->now.rule.kind = (uint8_t)kind;
	p->now.rule.base = (uint8_t)(number < 0 ? 0 : number);
	p->now.rule.offset = (int32_t)offset;
}

/* Of expressions for the CFA, compilers use *(register + offset), for realigned stacks. */
static void put_cfa_expression(struct program *p, struct cursor *c)
{
	uint64_t size = take_uleb(c);
	struct cursor e = {c->at, c->end};
	uint64_t op;
	int64_t offset;

	if (size > (uint64_t)(c->end - c->at))
		size = (uint64_t)(c->end - c->at);
	e.end = c->at += size;
	op = take(&e, 1);
	offset = take_sleb(&e);
	if (op >= OP_BREG0 && op < OP_BREG0 + 32 && take(&e, 1) == OP_DEREF && e.at == e.end)
		put_cfa(p, op - OP_BREG0, offset, CFI_DEREFERENCE);
	else
		p->now.rule.kind = CFI_END;
}

/* A register that is saved where an expression says: only *(rbp + 0) for rbp itself is usual. */
static void put_expression(struct program *p, struct cursor *c)
{
	uint64_t dwarf = take_uleb(c), size = take_uleb(c);

	(void)p;
	(void)dwarf;
	c->at += size < (uint64_t)(c->end - c->at) ? size : (uint64_t)(c->end - c->at);
}

static void advance(struct program *p, uint64_t delta)
{
	p->location += delta * p->code_align;
}

/* DW_CFA_*, of the instructions with the number in the lower six bits. */
static void run_extended(struct program *p, struct cursor *c, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case 0x00: /* nop */
		break;
	case 0x01: /* set_loc */
		p->location = take_encoded(c, p->encoding);
		break;
	case 0x02: /* advance_loc1, 2, 4 */
		advance(p, take(c, 1));
		break;
	case 0x03:
		advance(p, take(c, 2));
		break;
	case 0x04:
		advance(p, take(c, 4));
		break;
	case 0x05: /* offset_extended */
		reg = take_uleb(c);
		put_saved(p, reg, (int64_t)take_uleb(c) * p->data_align);
		break;
	case 0x06: /* restore_extended */
		put_initial(p, take_uleb(c));
		break;
	case 0x07: /* undefined */
		if (take_uleb(c) == REG_PC)
			p->now.rule.kind = CFI_END;
		break;
	case 0x08: /* same_value */
		put_initial(p, take_uleb(c));
		break;
	case 0x0a: /* remember_state */
		if (p->depth < DEPTH)
			p->stack[p->depth] = p->now;
		p->depth++;
		break;
	case 0x0b: /* restore_state */
		if (p->depth && --p->depth < DEPTH)
			p->now = p->stack[p->depth];
		break;
	case 0x0c: /* def_cfa */
		reg = take_uleb(c);
		put_cfa(p, reg, (int64_t)take_uleb(c), CFI_REGISTER);
		break;
	case 0x0d: { /* def_cfa_register */
		int number = number_of(take_uleb(c));

		p->now.bad |= number < 0;
		p->now.rule.base = (uint8_t)(number < 0 ? 0 : number);
		break;
	}
	case 0x0e: /* def_cfa_offset */
		p->now.rule.offset = (int32_t)take_uleb(c);
		break;
	case 0x0f: /* def_cfa_expression */
		put_cfa_expression(p, c);
		break;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		put_expression(p, c);
		break;
	case 0x11: /* offset_extended_sf */
		reg = take_uleb(c);
		put_saved(p, reg, take_sleb(c) * p->data_align);
		break;
	case 0x12: /* def_cfa_sf */
		reg = take_uleb(c);
		put_cfa(p, reg, take_sleb(c) * p->data_align, CFI_REGISTER);
		break;
	case 0x13: /* def_cfa_offset_sf */
		p->now.rule.offset = (int32_t)(take_sleb(c) * p->data_align);
		break;
	case 0x2e: /* GNU_args_size */
		take_uleb(c);
		break;
	default:
		p->now.bad = 1;
		c->at = c->end;
	}
}

/* Up to the address. */
static void run(struct program *p, struct cursor c)
{
	while (c.at < c.end && p->location <= p->pc && !p->now.bad) {
		uint8_t op = *c.at++;

		switch (op >> 6) {
		case 1:
			advance(p, op & 0x3f);
			break;
		case 2:
			put_saved(p, op & 0x3f, (int64_t)take_uleb(&c) * p->data_align);
			break;
		case 3:
			put_initial(p, op & 0x3f);
			break;
		default:
			run_extended(p, &c, op);
		}
	}
}

/* ---- entries ---- */

/* The contents of an entry of .eh_frame; 0: it is the end, or an unusual one. */
static struct cursor entry_at(const uint8_t *at)
{
	uint32_t size;

	memcpy(&size, at, sizeof(size));
	if (size == UINT32_MAX)
		size = 0;
	return (struct cursor){at + 4, at + 4 + size};
}

struct cie {
	struct cursor code;
	int is_signal, has_data;
};

static int read_cie(const uint8_t *at, struct program *p, struct cie *ret_cie)
{
	struct cursor c = entry_at(at);
	const char *augmentation;
	uint8_t version;

	*ret_cie = (struct cie){0};
	if (c.end - c.at < 8 || take(&c, 4))
		return 0;
	version = (uint8_t)take(&c, 1);
	augmentation = (const char *)c.at;
	c.at += strnlen(augmentation, (size_t)(c.end - c.at)) + 1;
	p->code_align = take_uleb(&c);
	p->data_align = take_sleb(&c);
	if (version == 1)
		take(&c, 1);
	else
		take_uleb(&c);
	for (; *augmentation; augmentation++) {
		if (*augmentation == 'z') {
			uint64_t size = take_uleb(&c);

			ret_cie->has_data = 1;
			ret_cie->code = (struct cursor){c.at + size, c.end};
		} else if (*augmentation == 'R') {
			p->encoding = (uint8_t)take(&c, 1);
		} else if (*augmentation == 'P') {
			take_encoded(&c, (uint8_t)take(&c, 1) & (uint8_t)~ENC_INDIRECT);
		} else if (*augmentation == 'L') {
			take(&c, 1);
		} else if (*augmentation == 'S') {
			ret_cie->is_signal = 1;
		} else {
			return 0;
		}
	}
	if (!ret_cie->has_data)
		ret_cie->code = c;
	return 1;
}

static void read_fde(const uint8_t *at, uint64_t pc, struct cfi_rule *ret_rule)
{
	struct program p = {.pc = pc};
	struct cursor c = entry_at(at);
	const uint8_t *place = c.at;
	uint64_t begin, size, back = take(&c, 4);
	struct cie cie;

	if (!back || !read_cie(place - back, &p, &cie))
		return;
	begin = take_encoded(&c, p.encoding);
	size = take_encoded(&c, p.encoding & 0x0f);
	if (pc - begin >= size)
		return;
	if (cie.has_data)
		c.at += take_uleb(&c);
	if (cie.is_signal) {
		ret_rule->kind = CFI_SIGNAL;
		return;
	}
	for (int i = 0; i <= CFI_SAVED; i++)
		p.now.rule.saved[i] = CFI_UNCHANGED;
	run(&p, cie.code);
	p.initial = p.now;
	p.location = begin;
	run(&p, c);
	if (!p.now.bad && p.now.rule.saved[CFI_PC_SAVED] != CFI_UNCHANGED)
		*ret_rule = p.now.rule;
}

/* The table of .eh_frame_hdr is sorted by address, and has offsets from its own start. */
void cfi_find(const uint8_t *table, uint64_t pc, struct cfi_rule *ret_rule)
{
	const int64_t wanted = (int64_t)(pc - (uintptr_t)table);
	struct cursor c = {table + 4, table + 64};
	const int32_t(*rows)[2];
	uint64_t low = 0, high;

	*ret_rule = (struct cfi_rule){.kind = CFI_END};
	if (table[0] != 1 || table[2] == ENC_OMIT || table[3] != ENC_DATAREL_SDATA4)
		return;
	take_encoded(&c, table[1]);
	high = take_encoded(&c, table[2]);
	rows = (const void *)c.at;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (rows[middle][0] <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (low)
		read_fde(table + rows[low - 1][1], pc, ret_rule);
}

#endif
