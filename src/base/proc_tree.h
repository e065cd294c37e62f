/* SPDX-License-Identifier: MIT */
/* The children of processes, in /proc. */
#ifndef BASE_PROC_TREE_H
#define BASE_PROC_TREE_H

#include "base/parse.h"

/*
 * Appends the descendants of the processes in the list, each once and after its parent, without
 * this process and its own descendants. Processes that are created or end meanwhile can be missing:
 * call it again with the same list until it adds none. Returns 0 or -ENOMEM; what cannot be read
 * is skipped.
 */
int proc_add_descendants(parse_ints *pids);

/* The same on kernels without CONFIG_PROC_CHILDREN: reads the parents of all processes. */
int proc_add_descendants_by_parents(parse_ints *pids);

#endif
