/* SPDX-License-Identifier: MIT */
/*
 * The attributes of a function's entry that determine its name (DWARF 5, sections 2.15, 2.22 and
 * 3.3.8.1): strings, and the entry that it refers to.
 */
#ifndef DWARF_FUNCTION_NAME_H
#define DWARF_FUNCTION_NAME_H

#include "dwarf/unit.h"

enum { NAMING_ORIGINS_MAX = 8 }; /* entries that one after another refers to for its name */

struct naming {
	struct debug_value linkage, name, origin;
};

/* Takes an attribute of the entry. */
void naming_take(struct naming *naming, unsigned attribute, const struct debug_value *value);

/*
 * Where the name that tools show is looked for first: the name for the linker, else the entry that
 * this one refers to, else its own name. NULL: there is none.
 */
const struct debug_value *naming_value(const struct naming *naming);

#endif
