/* SPDX-License-Identifier: MIT */
/*
 * Instructions that write memory (Intel 64 and IA-32 Architectures Software Developer's Manual,
 * volume 2): mov, add, or, and, sub, xor, inc, dec, not, neg, cmpxchg; and those that only read it:
 * the same with a register as destination, cmp, test, movzx, movsx.
 */
#include "lib/store_value.h"

#include <string.h>

#include "lib/registers.h"

#if defined(__x86_64__)

enum operation {
	OP_MOVE,
	OP_ADD,
	OP_OR,
	OP_AND,
	OP_SUB,
	OP_XOR,
	OP_NOT,
	OP_NEG,
	OP_CMPXCHG,
	OP_READ, /* writes nothing */
};

enum { NO_REGISTER = 16, ZERO_FLAG = 1 << 6, FLAGS = 9 };

/* A decoded instruction. Registers have the numbers of the instruction set. */
struct store {
	enum operation op;
	unsigned width;  /* bytes that are written */
	unsigned source; /* register; NO_REGISTER: immediate */
	bool is_high;    /* ah, ch, dh, bh */
	uint64_t immediate;
	unsigned base, index; /* NO_REGISTER: none */
	unsigned scale;
	int64_t displacement;
	bool is_relative; /* to the end of the instruction */
};

/* The bytes that are left to read; n becomes SIZE_MAX after the end. */
struct bytes {
	const uint8_t *at;
	size_t n;
};

static uint64_t store_value_take(struct bytes *b, unsigned size, bool is_signed)
{
	uint64_t value = 0;
	unsigned unused = 64 - 8 * size;

	if (b->n == SIZE_MAX || b->n < size) {
		b->n = SIZE_MAX;
		return 0;
	}
	memcpy(&value, b->at, size);
	b->at += size;
	b->n -= size;
	return is_signed && unused ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

/* The registers of the instruction set, by number, are these of perf_event_attr. */
static uint64_t register_value(const struct attar_regs *regs, unsigned number)
{
	static const uint8_t numbers[] = {0, 2, 3, 1, 7, 6, 4, 5, 16, 17, 18, 19, 20, 21, 22, 23};
	uint64_t value = 0;

	registers_get(regs, numbers[number], &value);
	return value;
}

/* ModRM, SIB and displacement; false: its operand is a register. */
static bool take_memory(struct bytes *b, unsigned rex, struct store *s, unsigned *ret_reg)
{
	unsigned modrm = (unsigned)store_value_take(b, 1, false), mod = modrm >> 6, rm = modrm & 7,
		 sib;

	*ret_reg = (modrm >> 3 & 7) | (rex & 4) << 1;
	s->base = rm | (rex & 1) << 3;
	s->index = NO_REGISTER;
	s->scale = 1;
	if (mod == 3)
		return false;
	if (rm == 4) {
		sib = (unsigned)store_value_take(b, 1, false);
		s->scale = 1u << (sib >> 6);
		s->index = (sib >> 3 & 7) | (rex & 2) << 2;
		s->index = s->index == 4 ? NO_REGISTER : s->index;
		s->base = (sib & 7) | (rex & 1) << 3;
		if ((sib & 7) == 5 && mod == 0) {
			s->base = NO_REGISTER;
			s->displacement = (int64_t)store_value_take(b, 4, true);
			return true;
		}
	} else if (rm == 5 && mod == 0) {
		s->base = NO_REGISTER;
		s->is_relative = true;
		s->displacement = (int64_t)store_value_take(b, 4, true);
		return true;
	}
	if (mod)
		s->displacement = (int64_t)store_value_take(b, mod == 1 ? 1 : 4, true);
	return true;
}

static bool by_register(struct store *s, enum operation op, unsigned reg, unsigned rex)
{
	s->op = op;
	s->source = reg;
	s->is_high = s->width == 1 && !rex && reg >= 4 && reg < 8;
	if (s->is_high)
		s->source = reg - 4;
	return true;
}

static bool by_immediate(struct store *s, enum operation op, uint64_t immediate)
{
	s->op = op;
	s->source = NO_REGISTER;
	s->immediate = immediate;
	return true;
}

/* The groups of opcodes whose ModRM selects the operation. */
static bool decode_group(struct bytes *b, unsigned opcode, unsigned operation, struct store *s)
{
	static const int8_t arithmetic[] = {OP_ADD, OP_OR, -1, -1, OP_AND, OP_SUB, OP_XOR, OP_READ};
	unsigned size = opcode == 0x81 || opcode == 0xc7 ? (s->width > 4 ? 4 : s->width) : 1;

	switch (opcode) {
	case 0xc6:
	case 0xc7:
		return operation == 0 && by_immediate(s, OP_MOVE, store_value_take(b, size, true));
	case 0x80:
	case 0x81:
	case 0x83:
		return arithmetic[operation] >= 0 &&
		       by_immediate(s, (enum operation)arithmetic[operation],
			       store_value_take(b, size, true));
	case 0xfe:
	case 0xff:
		return operation < 2 && by_immediate(s, operation ? OP_SUB : OP_ADD, 1);
	default:                   /* f6, f7 */
		if (operation < 2) /* test */
			return by_immediate(
				s, OP_READ, store_value_take(b, s->width > 4 ? 4 : s->width, true));
		return (operation == 2 || operation == 3) &&
		       by_immediate(s, operation == 2 ? OP_NOT : OP_NEG, 0);
	}
}

/* Instructions whose destination is a register; sets the width of those that extend a value. */
static bool is_load(unsigned opcode, struct store *s)
{
	switch (opcode) {
	case 0x02: /* add */
	case 0x03:
	case 0x0a: /* or */
	case 0x0b:
	case 0x22: /* and */
	case 0x23:
	case 0x2a: /* sub */
	case 0x2b:
	case 0x32: /* xor */
	case 0x33:
	case 0x3a: /* cmp */
	case 0x3b:
	case 0x8a: /* mov */
	case 0x8b:
		return true;
	case 0x63: /* movsxd */
		s->width = 4;
		return true;
	case 0x0fb6: /* movzx, movsx */
	case 0x0fbe:
		return true;
	case 0x0fb7:
	case 0x0fbf:
		s->width = 2;
		return true;
	default:
		return false;
	}
}

static bool decode_opcode(struct bytes *b, unsigned opcode, unsigned rex, struct store *s)
{
	unsigned reg;

	if (!take_memory(b, rex, s, &reg))
		return false;
	switch (opcode) {
	case 0x00:
	case 0x01:
		return by_register(s, OP_ADD, reg, rex);
	case 0x08:
	case 0x09:
		return by_register(s, OP_OR, reg, rex);
	case 0x20:
	case 0x21:
		return by_register(s, OP_AND, reg, rex);
	case 0x28:
	case 0x29:
		return by_register(s, OP_SUB, reg, rex);
	case 0x30:
	case 0x31:
		return by_register(s, OP_XOR, reg, rex);
	case 0x88:
	case 0x89:
		return by_register(s, OP_MOVE, reg, rex);
	case 0x0fb0:
	case 0x0fb1:
		return by_register(s, OP_CMPXCHG, reg, rex);
	case 0x38: /* cmp */
	case 0x39:
	case 0x84: /* test */
	case 0x85:
		return by_register(s, OP_READ, reg, rex);
	case 0xc6:
	case 0xc7:
	case 0x80:
	case 0x81:
	case 0x83:
	case 0xfe:
	case 0xff:
	case 0xf6:
	case 0xf7:
		return decode_group(b, opcode, reg & 7, s);
	default:
		return is_load(opcode, s) && by_register(s, OP_READ, reg, rex);
	}
}

/* Decodes an instruction that takes up all bytes. */
static bool decode(const uint8_t *code, size_t n, struct store *s)
{
	struct bytes b = {code, n};
	unsigned opcode, rex = 0;
	bool is_short = false;

	*s = (struct store){0};
	for (; b.n && (*b.at == 0x66 || *b.at == 0xf0); b.at++, b.n--)
		is_short |= *b.at == 0x66;
	opcode = (unsigned)store_value_take(&b, 1, false);
	if ((opcode & 0xf0) == 0x40) {
		rex = opcode;
		opcode = (unsigned)store_value_take(&b, 1, false);
	}
	if (opcode == 0x0f)
		opcode = 0x0f00 | (unsigned)store_value_take(&b, 1, false);
	s->width = !(opcode & 1) ? 1 : rex & 8 ? 8 : is_short ? 2 : 4;
	if (opcode == 0x83) /* its immediate is a byte, its operand is not */
		s->width = rex & 8 ? 8 : is_short ? 2 : 4;
	return decode_opcode(&b, opcode, rex, s) && b.n == 0;
}

static uint64_t address_of(const struct store *s, const struct attar_regs *regs, uint64_t end)
{
	uint64_t address = (uint64_t)s->displacement;

	if (s->is_relative)
		address += end;
	if (s->base != NO_REGISTER)
		address += register_value(regs, s->base);
	if (s->index != NO_REGISTER)
		address += register_value(regs, s->index) * s->scale;
	return address;
}

/* Finds the instruction: the longest with the width of the location, else the longest. */
static bool store_value_find(const uint8_t code[STORE_BYTES], size_t n, uint64_t end,
	const struct attar_regs *regs, const struct watched *w, struct store *ret_store)
{
	struct store s;
	bool found = false;

	for (size_t len = 2; len <= n; len++) {
		uint64_t address;

		if (!decode(code + STORE_BYTES - len, len, &s))
			continue;
		address = address_of(&s, regs, end);
		if (address >= w->address + w->len || address + s.width <= w->address ||
			(s.op == OP_READ && !w->reads))
			continue;
		if (found && ret_store->width == w->len && s.width != w->len)
			continue;
		*ret_store = s;
		found = true;
	}
	return found;
}

static uint64_t mask_of(unsigned bytes)
{
	return bytes < 8 ? (UINT64_C(1) << 8 * bytes) - 1 : UINT64_MAX;
}

static uint64_t compute(enum operation op, uint64_t old, uint64_t source)
{
	switch (op) {
	case OP_ADD:
		return old + source;
	case OP_OR:
		return old | source;
	case OP_AND:
		return old & source;
	case OP_SUB:
		return old - source;
	case OP_XOR:
		return old ^ source;
	case OP_NOT:
		return ~old;
	case OP_NEG:
		return -old;
	default:
		return source;
	}
}

enum store_access store_access(const uint8_t code[STORE_BYTES], size_t n, uint64_t end,
	const struct attar_regs *regs, const struct watched *w)
{
	struct store s;

	if (!regs->nr || !store_value_find(code, n, end, regs, w, &s))
		return STORE_UNKNOWN;
	return s.op == OP_READ ? STORE_READS : STORE_WRITES;
}

bool store_value(const uint8_t code[STORE_BYTES], size_t n, uint64_t end,
	const struct attar_regs *regs, const struct watched *w, uint64_t *ret_value)
{
	uint64_t source, address, flags = 0, value, mask;
	struct store s;

	if (!regs->nr || !store_value_find(code, n, end, regs, w, &s))
		return false;
	if (s.op == OP_READ) {
		*ret_value = w->old;
		return w->knows_old;
	}
	address = address_of(&s, regs, end);
	source = s.source == NO_REGISTER ? s.immediate
					 : register_value(regs, s.source) >> (s.is_high ? 8 : 0);
	registers_get(regs, FLAGS, &flags);
	if (s.op == OP_CMPXCHG && !(flags & ZERO_FLAG)) { /* it wrote the old value again */
		*ret_value = w->old;
		return w->knows_old;
	}
	if (s.op == OP_MOVE || s.op == OP_CMPXCHG) {
		if (address <= w->address && address + s.width >= w->address + w->len) {
			*ret_value = source >> 8 * (w->address - address) & mask_of(w->len);
			return true;
		}
		/* a part of the location */
		mask = mask_of(s.width);
		if (address < w->address) {
			mask >>= 8 * (w->address - address);
			value = (source & mask_of(s.width)) >> 8 * (w->address - address);
		} else {
			mask <<= 8 * (address - w->address);
			value = source << 8 * (address - w->address);
		}
		*ret_value = ((w->old & ~mask) | (value & mask)) & mask_of(w->len);
		return w->knows_old;
	}
	*ret_value = compute(s.op, w->old, source) & mask_of(w->len);
	return w->knows_old && address == w->address && s.width == w->len;
}

#else

enum store_access store_access(const uint8_t code[STORE_BYTES], size_t n, uint64_t end,
	const struct attar_regs *regs, const struct watched *watched)
{
	return STORE_UNKNOWN;
}

bool store_value(const uint8_t code[STORE_BYTES], size_t n, uint64_t end,
	const struct attar_regs *regs, const struct watched *watched, uint64_t *ret_value)
{
	return false;
}

#endif
