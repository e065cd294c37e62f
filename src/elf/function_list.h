/* SPDX-License-Identifier: MIT */
/* All functions in the symbol tables of an ELF file, for patterns of probes. */
#ifndef ELF_FUNCTION_LIST_H
#define ELF_FUNCTION_LIST_H

#include <stdint.h>

/*
 * Called for each name of a function, without its version, and its file offset. A function may have
 * several names, and is in both symbol tables. A nonzero return value ends the iteration and is
 * returned.
 */
typedef int elf_function_fn(void *ctx, const char *name, uint64_t offset);

/*
 * Calls fn for the functions with code in the file at path. Left out are those whose address a
 * resolver chooses (STT_GNU_IFUNC), and the cold parts of functions, which are not called. Error
 * messages have file_name. Returns 0, the nonzero value returned by fn, -ENOEXEC if it is not an
 * ELF file, or the negative errno of open(2).
 */
int elf_functions_each(const char *path, const char *file_name, elf_function_fn *fn, void *ctx);

#endif
