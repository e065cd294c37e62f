/* SPDX-License-Identifier: MIT */
/* A tree of weighted nodes, each known by its parent and a key: stacks merged from the root. */
#ifndef STATS_CALLTREE_H
#define STATS_CALLTREE_H

#include "base/map.h"
#include "base/vec.h"

#define CALLTREE_ROOT UINT32_MAX

struct calltree_node {
	uint32_t parent; /* its number; CALLTREE_ROOT: none */
	uint32_t key;
	uint64_t self; /* weight that ended here */
};

struct calltree {
	VEC(struct calltree_node) nodes; /* parents before children */
	struct map children;             /* parent and key -> number */
};

/* The child's number, made if it is new; CALLTREE_ROOT when out of memory. */
uint32_t calltree_child(struct calltree *t, uint32_t parent, uint32_t key);
void calltree_done(struct calltree *t);

#endif
