/* SPDX-License-Identifier: MIT */
/*
 * Reads the call frame information of a binary: .eh_frame (Linux Standard Base, section 10.6), or
 * .debug_frame (DWARF 5, section 6.4) if the former has no functions.
 */
#ifndef DWARF_CFI_H
#define DWARF_CFI_H

#include "dwarf/cfi_table.h"

/*
 * Compiles it. Returns 0, also if there is none: the table is then empty. Malformed parts are left
 * out and counted in table->skipped. -ENOMEM: the table is empty. Free it with cfi_table_done().
 */
int cfi_read(const struct elf *elf, struct cfi_table *ret_table);

#endif
