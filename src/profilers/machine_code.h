/* SPDX-License-Identifier: MIT */
/* The machine code of binaries, as it is in their files. */
#ifndef PROFILERS_MACHINE_CODE_H
#define PROFILERS_MACHINE_CODE_H

#include "attar/symbol.h"

/*
 * Reads n bytes of code from a location of a file. Returns 0; -ENOENT if it is not in a file, or
 * the file cannot be read. ret_machine: EM_* of its ELF header; may be NULL.
 */
int machine_code_read(struct attar_symbols *symbols, attar_location location, uint8_t *bytes,
	size_t n, uint16_t *ret_machine);

/* An instruction; text is valid during the call. */
typedef int instruction_fn(void *ctx, uint64_t address, size_t size, const char *text);

/*
 * Decodes the instructions of n bytes of code at an address, with capstone: calls fn for each,
 * until it returns non-zero. Returns 0; the non-zero result of fn; -EOPNOTSUPP without capstone, or
 * for another machine than x86-64 and arm64.
 */
int machine_code_decode(const uint8_t *bytes, size_t n, uint64_t address, uint16_t machine,
	instruction_fn *fn, void *ctx);

#endif
