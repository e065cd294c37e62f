/* SPDX-License-Identifier: MIT */
/* Where a function lies in an ELF file, for a uprobe. */
#ifndef ELF_FUNCTION_H
#define ELF_FUNCTION_H

#include "base/base.h"

/*
 * The offset in the file at path of the function that its symbol tables name. 0; -ENOENT with a
 * suggestion; -ENOEXEC when it is not an ELF file; or the errno of open(2).
 */
int elf_function_offset(const char *path, const char *name, uint64_t *ret_offset);

#endif
