/* SPDX-License-Identifier: MIT */
/* The stubs through which a program calls its libraries: "memcpy@plt". */
#ifndef ELF_PLT_H
#define ELF_PLT_H

#include "elf/symtab.h"

/*
 * Adds a symbol for each stub of .plt.sec or .plt: the n-th belongs to the n-th relocation of
 * .rela.plt, after the header of .plt (psABI of x86-64, i386 and AArch64). Stubs of an unknown
 * shape are left out.
 */
int plt_add(struct symtab *table, const struct elf *elf);

#endif
