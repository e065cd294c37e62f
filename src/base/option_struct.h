/* SPDX-License-Identifier: MIT */
/*
 * Extensible option structs. The first member, size, is the size of the struct known to the caller:
 * later members are zero for a smaller size, and must be zero for a larger one.
 */
#ifndef BASE_OPTION_STRUCT_H
#define BASE_OPTION_STRUCT_H

#include "base/base.h"

/*
 * Copies the caller's struct `theirs` (may be NULL) to the zeroed struct `mine` of `known` bytes.
 * Returns 0; -EINVAL for an invalid size; -E2BIG if a member newer than this library is set.
 */
int option_struct_take(void *mine, size_t known, const void *theirs);

#endif
