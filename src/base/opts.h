/* SPDX-License-Identifier: MIT */
/*
 * Option structs grow from version to version. Their first member, size, says how much of it the
 * caller knows: what he does not know is zero, and what we do not know must be.
 */
#ifndef BASE_OPTS_H
#define BASE_OPTS_H

#include "base/base.h"

/*
 * Copies the caller's struct at theirs (NULL: it gave none) over the zeroed one at mine, of `known`
 * bytes. 0; -EINVAL when its size is that of no struct; -E2BIG when it sets a member that is newer
 * than this library.
 */
int opts_take(void *mine, size_t known, const void *theirs);

#endif
