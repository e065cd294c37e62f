/* SPDX-License-Identifier: MIT */
/*
 * A call tree in which siblings that look alike are one node, such as the threads of a program.
 *
 *	struct tree_merge merged _cleanup_(tree_merge_done) = {0};
 *	r = tree_merge(&merged, section, TREE_MERGE_EXACT);
 *	tree_order_init(&order, &merged.tree);
 */
#ifndef REPORT_MODEL_TREE_MERGE_H
#define REPORT_MODEL_TREE_MERGE_H

#include "base/map.h"
#include "report/model/model.h"

/* Which siblings are one node: those with the same name, and ... */
enum tree_merge_by {
	TREE_MERGE_EXACT,  /* module and kind */
	TREE_MERGE_FOLDED, /* suffix in folded stacks */
};

struct tree_merge {
	struct attar_section tree; /* nodes only; with the strings of the same report */
	VEC(uint32_t) of;          /* the node of `tree` for each node of the section */
	struct map index;
};

/* The suffix of a frame in folded stacks: kernel, inlined, JIT-compiled. */
const char *tree_suffix(unsigned kind);

/* Returns 0, or -ENOMEM with an error message. */
int tree_merge(
	struct tree_merge *merged, const struct attar_section *section, enum tree_merge_by by);
void tree_merge_done(struct tree_merge *merged);

#endif
