/* SPDX-License-Identifier: MIT */
/*
 * Finds a unit of a .dwp package by its id, in the hash table .debug_cu_index (DWARF 5, section
 * 7.3.5.3; version 2 is GNU's of DWARF 4).
 */
#ifndef DWARF_PACKAGE_H
#define DWARF_PACKAGE_H

#include "dwarf/debug_file.h"

/* Offsets in the sections of the package of what belongs to one unit. */
struct package_unit {
	uint64_t info, abbrev, str_offsets, rnglists;
};

/* False if the package does not have the unit. */
bool package_find(struct debug_file *package, uint64_t dwo_id, struct package_unit *ret_unit);

#endif
