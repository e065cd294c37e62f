/* SPDX-License-Identifier: MIT */
/* The vDSO: the ELF image that the kernel maps into every process. */
#ifndef SYMBOL_VDSO_H
#define SYMBOL_VDSO_H

#include "base/base.h"

/*
 * A copy of the 64-bit image (the same in every process: ours is read), or of the mapping [start,
 * end) of process pid if compat is true. Returns 0 or a negative errno; the caller frees the copy.
 */
int vdso_copy(bool compat, pid_t pid, uint64_t start, uint64_t end, uint8_t **ret_image,
	size_t *ret_size);

#endif
