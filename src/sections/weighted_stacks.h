/* SPDX-License-Identifier: MIT */
/* The stacks of a profiler in a run: where they are in the tree of a report. */
#ifndef SECTIONS_WEIGHTED_STACKS_H
#define SECTIONS_WEIGHTED_STACKS_H

#include "attar/sections.h"
#include "sections/samples.h"

/* Before the first stack: the tree of reports has these groups above the tasks. */
void stacks_set_groups(struct attar_stacks *stacks, const struct stack_groups *groups);

/* The following reports of the whole run note where stacks are in the tree. */
void stacks_keep_nodes(struct attar_stacks *stacks);

/*
 * The node in the tree of the last report at which a stack of attar_stacks_add_span() ends;
 * ATTAR_TREE_ROOT: it is not in the tree.
 */
uint32_t stacks_node(const struct attar_stacks *stacks, uint64_t stack);

#endif
