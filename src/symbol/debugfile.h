/* SPDX-License-Identifier: MIT */
/* The symbols of a stripped binary: its separate debug file. */
#ifndef SYMBOL_DEBUGFILE_H
#define SYMBOL_DEBUGFILE_H

#include "symbol/symtab.h"

/*
 * Adds the symbols of the debug file that belongs to elf, when there is one: by build-id below the
 * roots of debug_path (colon-separated), then by debug link. The file stays open as *fd (-1 before)
 * for names. 0, also when nothing was found.
 */
int debugfile_add(struct symtab *table, const struct elf *elf, const char *path,
	const char *debug_path, int *fd);

#endif
