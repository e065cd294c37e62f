/* SPDX-License-Identifier: MIT */
/* The symbols of a symbol table section, one by one (gabi, "Symbol Table"). */
#ifndef ELF_SYMBOL_TABLE_H
#define ELF_SYMBOL_TABLE_H

#include "elf/elf.h"

enum { ELF_MAX_SYMBOLS = 8 << 20 }; /* of one table; further ones are ignored */

struct elf_symbol {
	uint32_t name; /* offset in the strings of the table */
	uint16_t section;
	uint8_t type, bind; /* STT_*, STB_* */
	bool old;           /* a version that new programs are not linked with */
	uint64_t value, size;
};

/* Called for each symbol; a result other than 0 ends the walk and is its result. */
typedef int elf_symbol_fn(void *ctx, const struct elf_symbol *symbol);

/* The section that holds the names of a symbol table; NULL when `section` is no valid table. */
const struct elf_section *elf_symbol_strings(
	const struct elf *elf, const struct elf_section *section);

/*
 * Reads the table in blocks. What does not fit the file is left out. 0, what fn returned, or
 * -ENOMEM.
 */
int elf_symbol_each(
	const struct elf *elf, const struct elf_section *section, elf_symbol_fn *fn, void *ctx);

#endif
