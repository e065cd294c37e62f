/* SPDX-License-Identifier: MIT */
#include "sections/calltree.h"

uint32_t calltree_child(struct calltree *t, uint32_t parent, uint32_t key)
{
	uint32_t hash = (uint32_t)base_hash64((uint64_t)parent << 32 | key);

	slots_each (&t->slots, hash, number) {
		const struct calltree_node *node = &t->nodes.at[number - 1];

		if (node->parent == parent && node->key == key)
			return number - 1;
	}
	if (slots_make_room(&t->slots) < 0 ||
		vec_push(&t->nodes, (struct calltree_node){.parent = parent, .key = key}) < 0)
		return CALLTREE_ROOT;
	slots_put(&t->slots, (struct slot){hash, (uint32_t)t->nodes.n});
	return (uint32_t)t->nodes.n - 1;
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
	slots_reset(&t->slots);
}

void calltree_done(struct calltree *t)
{
	vec_done(&t->path);
	vec_done(&t->nodes);
	slots_done(&t->slots);
}
