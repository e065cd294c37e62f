/* SPDX-License-Identifier: MIT */
#include "report/model/tree_merge.h"


const char *tree_suffix(unsigned kind)
{
	return kind == ATTAR_FRAME_KERNEL    ? "_[k]"
	       : kind == ATTAR_FRAME_INLINED ? "_[i]"
	       : kind == ATTAR_FRAME_JIT     ? "_[j]"
					     : "";
}

static uint64_t hash_of(const struct tree_node *node, enum tree_merge_by by)
{
	uint64_t rest = by == TREE_MERGE_FOLDED ? (uintptr_t)tree_suffix(node->kind)
						: (uint64_t)node->module << 3 | node->kind;

	return base_hash64((uint64_t)node->parent << 32 | node->name) ^ base_hash64(rest);
}

static int add_node(struct tree_merge *m, struct tree_node node, enum tree_merge_by by)
{
	uint64_t hash, *found, *self;
	uint32_t number = (uint32_t)m->tree.nodes.n;

	if (node.parent != ATTAR_TREE_ROOT)
		node.parent = m->of.at[node.parent];
	hash = hash_of(&node, by);
	found = map_get(&m->index, hash);
	if (!found)
		return vec_push(&m->of, number) < 0 || vec_push(&m->tree.nodes, node) < 0
			       ? -ENOMEM
			       : map_put(&m->index, hash, number);
	self = &m->tree.nodes.at[*found].self;
	if (__builtin_add_overflow(*self, node.self, self))
		*self = UINT64_MAX;
	return vec_push(&m->of, (uint32_t)*found);
}

int tree_merge(
	struct tree_merge *merged, const struct attar_section *section, enum tree_merge_by by)
{
	int r = 0;

	merged->tree.report = section->report;
	merged->tree.name = section->name;
	merged->tree.unit = section->unit;
	merged->tree.cutoff = section->cutoff;
	vec_each (&section->nodes, node)
		if (r == 0)
			r = add_node(merged, *node, by);
	return r < 0 ? base_oom() : 0;
}

void tree_merge_done(struct tree_merge *merged)
{
	vec_done(&merged->tree.nodes);
	map_done(&merged->index);
	vec_done(&merged->of);
}
