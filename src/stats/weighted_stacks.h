/* SPDX-License-Identifier: MIT */
/* The stacks of a profiler in a run: where they are in the tree of a report. */
#ifndef STATS_WEIGHTED_STACKS_H
#define STATS_WEIGHTED_STACKS_H

#include "attar/stats.h"

/* The following reports of the whole run note where stacks are in the tree. */
void stacks_keep_nodes(struct attar_stacks *stacks);

/*
 * The node in the tree of the last report at which a stack of attar_stacks_add_span() ends;
 * ATTAR_TREE_ROOT: it is not in the tree.
 */
uint32_t stacks_node(const struct attar_stacks *stacks, uint64_t stack);

#endif
