/* SPDX-License-Identifier: MIT */
/*
 * Determines what an instruction has written to memory or read from it, from its bytes and the
 * registers after it. x86-64: a breakpoint is reported after the instruction, so the instruction
 * that ends there is searched backwards; the address of its operand must be the one of the
 * breakpoint.
 */
#ifndef PROFILERS_LIB_STORE_VALUE_H
#define PROFILERS_LIB_STORE_VALUE_H

#include "attar/record.h"

enum { STORE_BYTES = 15 }; /* longest instruction */

/* A watched location. */
struct watched {
	uint64_t address;
	unsigned len;   /* 1 to 8 bytes */
	bool reads;     /* instructions that only read it are hits, too */
	bool knows_old; /* the value before */
	uint64_t old;
};

enum store_access { STORE_UNKNOWN, STORE_READS, STORE_WRITES };

/* What the instruction that ends at `end` does, see store_value(). */
enum store_access store_access(const uint8_t code[STORE_BYTES], size_t n, uint64_t end,
	const struct attar_regs *regs, const struct watched *watched);

/*
 * The value of the location after the instruction that ends at `end`, of which n bytes before are
 * known (the last n of code[STORE_BYTES]). False: the instruction is not one of those that are
 * decoded, or the value before it is needed and not known.
 */
bool store_value(const uint8_t code[STORE_BYTES], size_t n, uint64_t end,
	const struct attar_regs *regs, const struct watched *watched, uint64_t *ret_value);

#endif
