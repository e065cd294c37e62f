/* SPDX-License-Identifier: MIT */
/* Ranges of code of an entry: low and high address, .debug_ranges, .debug_rnglists. */
#ifndef DWARF_RANGES_H
#define DWARF_RANGES_H

#include "dwarf/unit.h"

enum { RANGES_STEPS_MAX = 1 << 26 }; /* entries of lists read into one struct debug_ranges */

struct debug_range {
	uint64_t start, end;
};

struct debug_ranges {
	VEC(struct debug_range) list;
	uint32_t steps; /* entries read */
};

/* The attributes of an entry that declare ranges. */
struct debug_extent {
	struct debug_value low, high, ranges;
};

/*
 * Appends the ranges, without empty ones and ranges of code that the linker removed (it starts at
 * 0, or at the end of the address space). Returns 0, also if the list is malformed: it then has
 * what precedes the error; -ENOMEM.
 */
int debug_ranges_read(const struct debug_unit *unit, const struct debug_extent *extent,
	struct debug_ranges *ranges);

#endif
