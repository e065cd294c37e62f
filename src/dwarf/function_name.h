/* SPDX-License-Identifier: MIT */
/*
 * The attributes of a function's entry that determine its name (DWARF 5, sections 2.15, 2.22 and
 * 3.3.8.1): texts, and the entry that it refers to.
 */
#ifndef DWARF_FUNCTION_NAME_H
#define DWARF_FUNCTION_NAME_H

#include "base/vec.h"
#include "dwarf/unit.h"

enum { NAMING_ORIGINS_MAX = 8 }; /* entries that one after another refers to for its name */

struct naming {
	uint64_t entry; /* offset in .debug_info */
	struct debug_value linkage, name, origin;
};

/* Those of a unit, in the order of their entries. */
struct namings {
	VEC(struct naming) list;
};

/* Takes an attribute of the entry. */
void naming_take(struct naming *naming, unsigned attribute, const struct debug_value *value);

/*
 * The value of the name that tools show: that for the linker, else the name of the origin, else its
 * own. NULL: there is none, or an entry that it depends on is not in the list. Borrowed.
 */
const struct debug_value *namings_find(const struct namings *namings, uint64_t entry);

#endif
