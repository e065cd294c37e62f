/* SPDX-License-Identifier: MIT */
/* A tree of weighted nodes, identified by parent and key: stacks merged from the root. */
#ifndef STATS_CALLTREE_H
#define STATS_CALLTREE_H

#include "base/map.h"
#include "base/vec.h"

#define CALLTREE_ROOT UINT32_MAX

struct calltree_node {
	uint32_t parent; /* index; CALLTREE_ROOT: none */
	uint32_t key;
	uint64_t self; /* weight of stacks that end here */
};

struct calltree {
	VEC(struct calltree_node) nodes; /* parents before children */
	struct map children;             /* parent and key -> index */
};

/* The index of the child, which is created if new; CALLTREE_ROOT if out of memory. */
uint32_t calltree_child(struct calltree *t, uint32_t parent, uint32_t key);
void calltree_done(struct calltree *t);

#endif
