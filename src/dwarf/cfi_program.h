/* SPDX-License-Identifier: MIT */
/*
 * Call frame instructions (DWARF 5, section 6.4.2): a program that yields the rules for each range
 * of a function's code.
 */
#ifndef DWARF_CFI_PROGRAM_H
#define DWARF_CFI_PROGRAM_H

#include "dwarf/cfi_table.h"
#include "dwarf/cursor.h"

/* Common information entry: what several functions share. */
struct cfi_cie {
	uint64_t offset; /* in its section; UINT64_MAX: none */
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_reg;
	uint8_t pointer_encoding;
	uint8_t address_size;
	bool is_signal, has_augmentation;
	struct cursor instructions;
};

/*
 * Runs the instructions of the CIE and of a function with code at [vaddr, vaddr + size), whose file
 * offset is file_offset, and adds the function and its rows to the builder. Returns 0; -EBADMSG if
 * they are malformed or unsupported: nothing is added; -ENOMEM.
 */
int cfi_program_run(struct cfi_builder *b, const struct cfi_cie *cie,
	const struct cursor *instructions, uint64_t vaddr, uint64_t size, uint64_t file_offset);

/* Addresses with the same rules. */
struct cfi_span {
	uint64_t start, end;
};

/*
 * The number of the rules for the code of a function at one address. Returns it, at least 1, and
 * the addresses around it that have the same row; 0 if there are too many rules; -EBADMSG if the
 * instructions up to the address are malformed or unsupported; -ENOMEM. Adds the rules to the
 * builder, but no function. The instructions are those that were not run.
 */
int cfi_program_find(struct cfi_builder *b, const struct cfi_cie *cie, struct cursor *instructions,
	uint64_t vaddr, uint64_t size, uint64_t address, struct cfi_span *ret_span);

#endif
