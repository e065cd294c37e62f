/* SPDX-License-Identifier: MIT */
/*
 * The functions of a unit, and those inlined into them, as sorted ranges of code: each range names
 * its innermost function, which names the one that it was inlined into.
 */
#ifndef DWARF_SCOPES_H
#define DWARF_SCOPES_H

#include "dwarf/unit.h"

enum { SCOPES_UNIT_MAX = 1 << 30, SCOPES_DEPTH_MAX = 1 << 12 };

struct scope {
	uint32_t entry;  /* offset of its entry in the unit */
	uint32_t parent; /* of an inlined function: that it was inlined into; 0: none */
	/*
	 * The value of naming_value(), of class name_class; if that is DEBUG_NONE, a number that
	 * the owner of the table keeps, 0: not known yet.
	 */
	uint32_t name;
	uint32_t call_line, call_file;
	uint16_t call_column;
	bool inlined;
	uint8_t name_class; /* enum debug_class */
};

struct scope_start {
	uint32_t start; /* address - base; the range extends to the next */
	uint32_t scope; /* 0: no function */
};

struct scope_table {
	uint64_t base;
	uint64_t from, to;        /* the code of which it has the functions */
	VEC(struct scope) scopes; /* [0] is unused */
	VEC(struct scope_start) starts;
	size_t last; /* index of the start that was found last */
};

/*
 * Reads the functions of a unit whose root entry was read. only: what is inside functions
 * without this address is skipped, where the compiler says how; NULL: all is read. Returns 0; the
 * table has what precedes a malformed part; -ENOMEM. Free with scope_table_done().
 */
int scope_table_read(const struct debug_unit *unit, const struct abbrevs *abbrevs,
	const uint64_t *only, struct scope_table *ret_table);
void scope_table_done(struct scope_table *table);

/* The number of the innermost function at an address; 0: none. */
uint32_t scope_table_find(struct scope_table *table, uint64_t address);

size_t scope_table_memory(const struct scope_table *table);

#endif
