/* SPDX-License-Identifier: MIT */
/* A tree of weighted nodes, identified by parent and key: stacks merged from the root. */
#ifndef SECTIONS_CALLTREE_H
#define SECTIONS_CALLTREE_H

#include "base/slots.h"
#include "base/vec.h"

#define CALLTREE_ROOT UINT32_MAX

struct calltree_node {
	uint32_t parent; /* index; CALLTREE_ROOT: none */
	uint32_t key;
	uint64_t self; /* weight of stacks that end here */
};

/* A node of the latest stack. */
struct calltree_step {
	uint32_t key, node;
};

struct calltree {
	VEC(struct calltree_node) nodes; /* parents before children */
	struct slots slots;              /* index + 1 of each, by the hash of parent and key */
	VEC(struct calltree_step) path; /* of calltree_enter(): from the root */
};

/* The index of the child, which is created if new; CALLTREE_ROOT if out of memory. */
uint32_t calltree_child(struct calltree *t, uint32_t parent, uint32_t key);

/* The slow path of calltree_enter(). */
uint32_t calltree_turn(struct calltree *t, size_t depth, uint32_t key);

/*
 * Like calltree_child(), for the nodes of a stack in order from depth 0: what stacks have in common
 * with the one before them is not searched for.
 */
static inline uint32_t calltree_enter(struct calltree *t, size_t depth, uint32_t key)
{
	if (depth < t->path.n && t->path.at[depth].key == key)
		return t->path.at[depth].node;
	return calltree_turn(t, depth, key);
}

void calltree_reset(struct calltree *t);
void calltree_done(struct calltree *t);

#endif
