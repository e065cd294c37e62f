/* SPDX-License-Identifier: MIT */
/*
 * Evaluates the DWARF expressions of call frame information (DWARF 5, section 2.5): arithmetic on a
 * stack of words, registers and memory. Anything else fails. Safe on untrusted input.
 */
#ifndef DWARF_EXPRESSION_H
#define DWARF_EXPRESSION_H

#include "base/base.h"

/* Where values of registers and memory come from. */
struct expression_input {
	const uint64_t *registers;
	uint64_t known; /* bit i: registers[i] is known */
	/* Reads size bytes (1 to 8) as a number. False if they are not known. */
	bool (*read)(void *ctx, uint64_t address, size_t size, uint64_t *ret_value);
	void *ctx;
};

/*
 * The value on top of the stack at the end. first (may be NULL) is on the stack at the start.
 * Returns 0; -EBADMSG if the expression is malformed, or takes too many steps; -ENODATA if a
 * register or memory is not known. Sets no error message.
 */
int expression_evaluate(const uint8_t *bytes, size_t n, const uint64_t *first,
	const struct expression_input *input, uint64_t *ret_value);

#endif
