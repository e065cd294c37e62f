/* SPDX-License-Identifier: MIT */
#include "stats/calltree.h"

uint32_t calltree_child(struct calltree *t, uint32_t parent, uint32_t key)
{
	uint64_t id = (uint64_t)parent << 32 | key, *found = map_get(&t->children, id);

	if (found)
		return (uint32_t)*found;
	if (vec_push(&t->nodes, (struct calltree_node){.parent = parent, .key = key}) < 0)
		return CALLTREE_ROOT;
	if (map_put(&t->children, id, t->nodes.n - 1) < 0) {
		t->nodes.n--;
		return CALLTREE_ROOT;
	}
	return (uint32_t)(t->nodes.n - 1);
}

uint32_t calltree_turn(struct calltree *t, size_t depth, uint32_t key)
{
	uint32_t parent = depth ? t->path.at[depth - 1].node : CALLTREE_ROOT;
	uint32_t node = calltree_child(t, parent, key);

	t->path.n = depth;
	if (node == CALLTREE_ROOT ||
		vec_push(&t->path, (struct calltree_step){.key = key, .node = node}) < 0)
		return CALLTREE_ROOT;
	return node;
}

void calltree_reset(struct calltree *t)
{
	t->path.n = t->nodes.n = 0;
	map_reset(&t->children);
}

void calltree_done(struct calltree *t)
{
	vec_done(&t->path);
	vec_done(&t->nodes);
	map_done(&t->children);
}
