/* SPDX-License-Identifier: MIT */
/*
 * The argument descriptors of a USDT note, "SIZE@OPERAND ...": a negative size in bytes is of a
 * signed number, an f after the size is of a floating-point number, and the operand is in the
 * syntax of the assembler.
 */
#ifndef EVENT_USDT_OPERAND_H
#define EVENT_USDT_OPERAND_H

#include "base/buf.h"
#include "event/usdt_note.h"

enum { USDT_OPERAND_MAX = 128 }; /* bytes, with the NUL */

struct usdt_type {
	unsigned size; /* bytes, as written */
	bool is_signed, is_float;
};

/*
 * Copies the next operand, which may contain blanks in brackets, to a buffer of max bytes. Returns
 * the text after it; NULL after the last and at a malformed descriptor.
 */
const char *usdt_operand_next(
	const char *text, char *operand, size_t max, struct usdt_type *ret_type);

/*
 * Converts an operand of x86-64 or arm64 to a fetch argument of a uprobe: "-24(%rbp)" to
 * "-24(%bp)", "[sp, 16]" to "+16(%sp)", "$5" to "\5", "counter(%rip)" to "@+0x4010". Appends to b.
 * Returns 0 or -EOPNOTSUPP.
 */
int usdt_operand(const struct usdt_site *site, const char *operand, struct buf *b);

#endif
