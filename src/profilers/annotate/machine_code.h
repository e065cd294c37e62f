/* SPDX-License-Identifier: MIT */
/* The instructions of machine code. */
#ifndef PROFILERS_ANNOTATE_MACHINE_CODE_H
#define PROFILERS_ANNOTATE_MACHINE_CODE_H

#include <stddef.h>
#include <stdint.h>

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
