/* SPDX-License-Identifier: MIT */
/* Iterate over a symbol table section (gABI, "Symbol Table"). */
#ifndef ELF_SYMBOL_TABLE_H
#define ELF_SYMBOL_TABLE_H

#include "elf/elf.h"

enum { ELF_MAX_SYMBOLS = 8 << 20 }; /* of one table; further ones are ignored */

struct elf_symbol {
	uint32_t name; /* offset in the strings of the table */
	uint16_t section;
	uint8_t type, bind;   /* STT_*, STB_* */
	bool old;             /* a non-default version, not used by new links */
	uint64_t value, size; /* value: in a relocatable file, as elf_place() placed it */
};

struct elf_range {
	uint64_t first, last; /* addresses */
};

#define ELF_ALL ((struct elf_range){.last = UINT64_MAX})

/* Called for each symbol; a nonzero return value ends the iteration and is returned. */
typedef int elf_symbol_fn(void *ctx, const struct elf_symbol *symbol);

/*
 * Returns the string table section of a symbol table; NULL if `section` is not a valid symbol
 * table.
 */
const struct elf_section *elf_symbol_strings(
	const struct elf *elf, const struct elf_section *section);

/* Whether a symbol has addresses in the range, or starts there. */
static inline bool elf_range_has(const struct elf_range *range, uint64_t start, uint64_t size)
{
	return start <= range->last && (start >= range->first || size > range->first - start);
}

/*
 * Reads the table in blocks and skips symbols outside the file or the range. Returns 0, the nonzero
 * value returned by fn, or -ENOMEM.
 */
int elf_symbol_each(const struct elf *elf, const struct elf_section *section,
	struct elf_range range, elf_symbol_fn *fn, void *ctx);

#endif
