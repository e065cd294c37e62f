/* SPDX-License-Identifier: MIT */
/* Addresses of functions and variables in an ELF file, for uprobes. */
#ifndef ELF_FUNCTION_H
#define ELF_FUNCTION_H

#include "elf/elf.h"

/*
 * Finds the file offset of a function in the symbol tables of the file at path, by the name there,
 * or by its unique name in the source: "ns::f" or "ns::f(int)". Error messages have the name of the
 * file. Returns 0; -ENOENT, with a suggestion in the error message; -ENOEXEC if it is not an ELF
 * file; or the negative errno of open(2).
 */
int elf_function_offset(
	const char *path, const char *file_name, const char *name, uint64_t *ret_offset);

/*
 * Finds the address of a function or variable. False if the symbol tables of the file do not have
 * it.
 */
bool elf_symbol_address(const struct elf *elf, const char *name, uint64_t *ret_vaddr);

#endif
