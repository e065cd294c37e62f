/* SPDX-License-Identifier: MIT */
/*
 * Reads DWARF data from bytes that may be malformed: reading beyond the end yields 0 and sets
 * `failed`, which the caller checks once. Formats: DWARF 5, section 7.6 (LEB128); Linux Standard
 * Base, section 10.5.1 (encoded pointers of .eh_frame).
 */
#ifndef DWARF_CURSOR_H
#define DWARF_CURSOR_H

#include "base/base.h"

struct cursor {
	const uint8_t *at, *end;
	bool failed;
};

/* Encodings of pointers. */
enum {
	DW_EH_PE_absptr = 0x00,
	DW_EH_PE_uleb128 = 0x01,
	DW_EH_PE_udata2 = 0x02,
	DW_EH_PE_udata4 = 0x03,
	DW_EH_PE_udata8 = 0x04,
	DW_EH_PE_sleb128 = 0x09,
	DW_EH_PE_sdata2 = 0x0a,
	DW_EH_PE_sdata4 = 0x0b,
	DW_EH_PE_sdata8 = 0x0c,
	DW_EH_PE_format = 0x0f,
	DW_EH_PE_pcrel = 0x10,
	DW_EH_PE_datarel = 0x30,
	DW_EH_PE_base = 0x70,
	DW_EH_PE_indirect = 0x80,
	DW_EH_PE_omit = 0xff,
};

/* Advances by n bytes and returns where they start; NULL if there are fewer. */
static inline const uint8_t *cursor_take(struct cursor *c, uint64_t n)
{
	const uint8_t *bytes = c->at;

	if (n > (uint64_t)(c->end - c->at)) {
		c->failed = true;
		c->at = c->end;
		return NULL;
	}
	c->at += n;
	return bytes;
}

/* The next 1, 2, 4 or 8 bytes as a number of the host's byte order. */
static inline uint64_t cursor_number(struct cursor *c, size_t size)
{
	const uint8_t *bytes = cursor_take(c, size);
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
	} value = {.u64 = 0};

	if (!bytes)
		return 0;
	memcpy(&value, bytes, size);
	return size == 1 ? value.u8 : size == 2 ? value.u16 : size == 4 ? value.u32 : value.u64;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	return (uint8_t)cursor_number(c, 1);
}

/* A signed number of 1, 2, 4 or 8 bytes. */
static inline int64_t cursor_signed(struct cursor *c, size_t size)
{
	unsigned shift = 64 - 8 * (unsigned)size;

	return (int64_t)(cursor_number(c, size) << shift) >> shift;
}

/* The bits of a LEB128 number, of which those above 64 are ignored; how many there were. */
static inline uint64_t cursor_leb(struct cursor *c, unsigned *ret_bits)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	*ret_bits = shift;
	return value;
}

/* Nearly all numbers have one byte. */
static inline uint64_t cursor_uleb(struct cursor *c)
{
	unsigned bits;

	if (likely(c->at < c->end && *c->at < 0x80))
		return *c->at++;
	return cursor_leb(c, &bits);
}

static inline int64_t cursor_sleb(struct cursor *c)
{
	unsigned bits;
	uint64_t value = cursor_leb(c, &bits);

	if (bits < 64 && value >> (bits - 1) & 1)
		value |= UINT64_MAX << bits;
	return (int64_t)value;
}

/*
 * An encoded pointer; address is the address of the cursor's current byte. Bases other than 0 and
 * the address of the pointer itself, and indirect pointers, fail.
 */
static inline uint64_t cursor_pointer(
	struct cursor *c, uint8_t encoding, uint64_t address, size_t address_size)
{
	uint64_t value;

	switch (encoding & DW_EH_PE_format) {
	case DW_EH_PE_absptr:
		value = cursor_number(c, address_size);
		break;
	case DW_EH_PE_uleb128:
		value = cursor_uleb(c);
		break;
	case DW_EH_PE_udata2:
		value = cursor_number(c, 2);
		break;
	case DW_EH_PE_udata4:
		value = cursor_number(c, 4);
		break;
	case DW_EH_PE_udata8:
		value = cursor_number(c, 8);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)cursor_sleb(c);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)cursor_signed(c, 2);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)cursor_signed(c, 4);
		break;
	case DW_EH_PE_sdata8:
		value = (uint64_t)cursor_signed(c, 8);
		break;
	default:
		c->failed = true;
		return 0;
	}
	if ((encoding & DW_EH_PE_base) == DW_EH_PE_pcrel)
		value += address;
	else if (encoding & DW_EH_PE_base)
		c->failed = true;
	if (encoding & DW_EH_PE_indirect)
		c->failed = true;
	return address_size == 4 ? (uint32_t)value : value;
}

#endif
