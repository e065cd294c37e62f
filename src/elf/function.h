/* SPDX-License-Identifier: MIT */
/* File offset of a function in an ELF file, for uprobes. */
#ifndef ELF_FUNCTION_H
#define ELF_FUNCTION_H

#include "base/base.h"

/*
 * Finds the file offset of a function in the symbol tables of the file at path. Returns 0; -ENOENT,
 * with a suggestion in the error text; -ENOEXEC if it is not an ELF file; or the negative errno of
 * open(2).
 */
int elf_function_offset(const char *path, const char *name, uint64_t *ret_offset);

#endif
