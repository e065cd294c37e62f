/* SPDX-License-Identifier: MIT */
/* The ELF image that the kernel maps into every process. */
#ifndef SYMBOL_VDSO_H
#define SYMBOL_VDSO_H

#include "base/base.h"

/*
 * A copy of the 64-bit image (every process has the same: ours is read), or of the mapping [start,
 * end) of process pid when compat is true. 0; the copy is the caller's to free.
 */
int vdso_copy(bool compat, pid_t pid, uint64_t start, uint64_t end, uint8_t **ret_image,
	size_t *ret_size);

#endif
