/* SPDX-License-Identifier: MIT */
/*
 * Iteration over a report's call tree: nodes before their children, the heaviest sibling first. Not
 * recursive: a tree may be a million frames deep.
 *
 *	struct tree_walk walk _cleanup_(tree_walk_done) = {0};
 *	if (tree_walk_init(&walk, section) < 0) return -ENOMEM;
 *	while (tree_walk_next(&walk, &node, &depth)) ...
 */
#ifndef REPORT_MODEL_TREE_H
#define REPORT_MODEL_TREE_H

#include "report/model/model.h"

/* attar_tree_node() and attar_tree_code(), with strings that report_keep() returned. */
uint32_t tree_add_node(struct attar_section *tree, const struct tree_node *node);
void tree_add_code(struct attar_section *tree, const struct tree_code *code);

/* Computes the totals (saturating) and sorts tasks and code, unless already done. */
void tree_sum(struct attar_section *tree);

/* The index of the node's parent, -1 for a root. */
long long tree_parent_id(const struct tree_node *node);

/* Compare two struct tree_task, or tree_code, by node, for qsort() and bsearch(). */
int tree_task_order(const void *a, const void *b);
int tree_code_order(const void *a, const void *b);

/* The task of a node, or NULL. Call it with ascending nodes; *at is the position, initially 0. */
const struct tree_task *tree_task_of(const struct attar_section *tree, uint32_t node, size_t *at);

/* The same for the code of a node. */
const struct tree_code *tree_code_of(const struct attar_section *tree, uint32_t node, size_t *at);

/*
 * For a node whose name includes a source line, or that was inlined into its parent: its function,
 * file (NULL: unknown) and line. Call it with ascending nodes.
 */
void tree_set_source(struct attar_section *tree, uint32_t node, const char *function,
	const char *file, unsigned line, bool inlined);

/* The value that was set for a node, or NULL. Call it as tree_task_of(). */
const struct tree_source *tree_source_of(
	const struct attar_section *tree, uint32_t node, size_t *at);

/* The weight as a share of the whole, 0..1. */
double tree_share(const struct attar_section *tree, uint64_t weight);

/* The children of all nodes in one array, siblings sorted by descending total, then by name. */
struct tree_order {
	uint32_t *starts; /* of node n: children[starts[n + 1]] up to children[starts[n + 2]] */
	uint32_t *children;
};

struct tree_range {
	uint32_t at, end; /* indexes of tree_order.children */
};

/* Calls tree_sum() first. Returns 0, or -ENOMEM with an error message. */
int tree_order_init(struct tree_order *order, struct attar_section *tree);
void tree_order_done(struct tree_order *order);

/* The children of node; of ATTAR_TREE_ROOT: the roots. */
struct tree_range tree_children(const struct tree_order *order, uint32_t node);

struct tree_walk {
	struct tree_order order;
	VEC(struct tree_range) open; /* siblings at each level of the current path */
	bool failed;
};

int tree_walk_init(struct tree_walk *walk, struct attar_section *tree);
void tree_walk_done(struct tree_walk *walk);

/*
 * The next node and its depth (0: a root). Returns false at the end, or if out of memory
 * (walk->failed).
 */
bool tree_walk_next(struct tree_walk *walk, uint32_t *ret_node, uint32_t *ret_depth);

#endif
