/* SPDX-License-Identifier: MIT */
/*
 * Finds the units of a file: by the address of code, from .debug_aranges (DWARF 5, section 6.1.2),
 * else from the ranges of the units that it does not name; and by the offset of an entry.
 */
#ifndef DWARF_UNIT_INDEX_H
#define DWARF_UNIT_INDEX_H

#include "dwarf/unit.h"

#define NO_UNIT UINT64_MAX

enum { UNITS_MAX = 1 << 22, UNKNOWN_UNITS_MAX = 1 << 16, ABBREVS_KEPT = 32 };

/* From an address on, code belongs to a unit. */
struct unit_start {
	uint64_t start;
	uint64_t unit; /* offset in .debug_info; NO_UNIT: of none */
};

struct unit_starts {
	VEC(struct unit_start) list;
	size_t last; /* index of the one that was found last */
	bool read;
};

struct unit_index {
	struct debug_file *file; /* borrowed */
	struct unit_starts aranges, ranges;
	unsigned scans;                  /* of .debug_aranges, before it is read into a table */
	struct map units;                /* from offset to struct debug_unit, owned */
	VEC(struct debug_unit *) sorted; /* all units by offset, once `listed` */
	bool listed;
	uint64_t end; /* the code from the address found last up to this one is the same unit's */
	struct abbrevs abbrevs[ABBREVS_KEPT];
};

void unit_index_done(struct unit_index *index);

/* The offset of the unit of the code at an address, which is not read; NO_UNIT. Sets `end`. */
uint64_t unit_index_offset(struct unit_index *index, uint64_t address);

/*
 * The unit of the code at an address, or NULL. Its root entry was read. Owned by the index. Sets
 * `end`.
 */
struct debug_unit *unit_index_find(struct unit_index *index, uint64_t address);

/* The unit that contains an offset of .debug_info, or NULL. Its root entry was read. */
struct debug_unit *unit_index_at(struct unit_index *index, uint64_t offset);

/*
 * The abbreviations of a unit, also of another file; NULL if they are malformed. Borrowed until
 * the next call.
 */
const struct abbrevs *unit_index_abbrevs(struct unit_index *index, const struct debug_unit *unit);

/* Forgets the abbreviations of a file that is about to be closed. */
void unit_index_forget(struct unit_index *index, const struct debug_file *file);

#endif
