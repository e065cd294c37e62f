/* SPDX-License-Identifier: MIT */
/*
 * Walking a report's call tree: every node before its children, the heaviest sibling first. Nothing
 * here recurses: a tree may be a million frames deep.
 *
 *	struct tree_walk walk _cleanup_(tree_walk_done) = {0};
 *	if (tree_walk_init(&walk, section) < 0) return -ENOMEM;
 *	while (tree_walk_next(&walk, &node, &depth)) ...
 */
#ifndef REPORT_TREE_H
#define REPORT_TREE_H

#include "report/model.h"

/* Sums the totals (saturating) and sorts the tasks, unless that was done. */
void tree_sum(struct attar_section *tree);

/* The number of its parent, -1 for a root. */
long long tree_parent_id(const struct tree_node *node);

/* Compares two struct tree_task by node, for qsort() and bsearch(). */
int tree_task_order(const void *a, const void *b);

/* The task that a node stands for, or NULL. Ask for rising nodes: *at goes along, from 0. */
const struct tree_task *tree_task_of(const struct attar_section *tree, uint32_t node, size_t *at);

/* The share of the whole, 0..1. */
double tree_share(const struct attar_section *tree, uint64_t weight);

/* The children of all nodes in one array, each family by falling total, then by name. */
struct tree_order {
	uint32_t *starts; /* of node n: children[starts[n + 1]] up to children[starts[n + 2]] */
	uint32_t *children;
};

struct tree_range {
	uint32_t at, end; /* indexes of tree_order.children */
};

/* 0, or -ENOMEM with its error text. Sums the tree first. */
int tree_order_init(struct tree_order *order, struct attar_section *tree);
void tree_order_done(struct tree_order *order);

/* The children of node; of ATTAR_TREE_ROOT: the roots. */
struct tree_range tree_children(const struct tree_order *order, uint32_t node);

struct tree_walk {
	struct tree_order order;
	VEC(struct tree_range) open; /* the families on the way to where it stands */
	bool failed;
};

int tree_walk_init(struct tree_walk *walk, struct attar_section *tree);
void tree_walk_done(struct tree_walk *walk);

/*
 * The next node and its depth (0: a root); false at the end, or when memory ran out (walk->failed).
 */
bool tree_walk_next(struct tree_walk *walk, uint32_t *ret_node, uint32_t *ret_depth);

#endif
