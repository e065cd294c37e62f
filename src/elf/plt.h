/* SPDX-License-Identifier: MIT */
/* PLT stubs, through which a program calls shared libraries: "memcpy@plt". */
#ifndef ELF_PLT_H
#define ELF_PLT_H

#include "elf/symtab.h"

/*
 * Adds a symbol for each stub of .plt.sec or .plt: after the .plt header, the n-th stub corresponds
 * to the n-th relocation of .rela.plt (psABI of x86-64, i386 and AArch64). Stubs of an unknown
 * format are omitted.
 */
int plt_add(struct symtab *table, const struct elf *elf);

#endif
