/* SPDX-License-Identifier: MIT */
/* Whether code keeps frame pointers, by its call frame information. */
#ifndef UNWIND_FRAME_POINTERS_H
#define UNWIND_FRAME_POINTERS_H

#include "attar/symbol.h"
#include "base/parse.h"
#include "dwarf/cfi_table.h"

struct frame_pointers {
	size_t modules;      /* that keep them */
	const char *without; /* path of one that does not, borrowed from the symbols; NULL: none */
};

/*
 * Looks at the modules of processes, until one does not keep frame pointers. Those without call
 * frame information do not count: unwinding them needs frame pointers in any case. Returns 0 or
 * -ENOMEM.
 */
int frame_pointers_find(
	struct attar_symbols *symbols, const parse_ints *pids, struct frame_pointers *ret_found);

#endif
