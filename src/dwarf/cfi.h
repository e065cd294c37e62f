/* SPDX-License-Identifier: MIT */
/*
 * Reads the call frame information of a binary: .eh_frame (Linux Standard Base, section 10.6), or
 * .debug_frame (DWARF 5, section 6.4) if the former has no functions.
 */
#ifndef DWARF_CFI_H
#define DWARF_CFI_H

#include "dwarf/cfi_table.h"

/*
 * Finds the functions, whose rules are made when they are needed: cfi_find() for one address,
 * cfi_complete() for all. Returns 0, also if there are none: the table is then empty. -ENOMEM: the
 * table is empty. Free it with cfi_table_done().
 */
int cfi_open(const struct elf *elf, struct cfi_table *ret_table);

/*
 * The rules for code at a file offset. They do not move until cfi_table_done(). NULL: there are
 * none, they are malformed, or memory is exhausted.
 */
const struct cfi_rules *cfi_find(struct cfi_table *table, uint64_t file_offset);

/*
 * Makes all rules and the ranges. Malformed parts are left out and counted in table->skipped.
 * Returns 0; -ENOMEM: the table is as before.
 */
int cfi_complete(struct cfi_table *table);

/* cfi_open() and cfi_complete(). */
int cfi_read(const struct elf *elf, struct cfi_table *ret_table);

#endif
