/* SPDX-License-Identifier: MIT */
/* Call trees: nodes of equal names below equal parents are added. */
#include "base/map.h"
#include "report/merge/parts.h"
#include "report/model/model.h"

struct joined {
	struct attar_section *to;
	struct map index; /* hash of parent, kind, name and module -> node */
	VEC(uint32_t) of; /* the node of each node of the tree that is added */
};

static uint64_t hash_of(const struct joined *j, uint32_t parent, const struct tree_node *node,
	const char *name, const char *module)
{
	struct attar_report *report = j->to->report;
	uint64_t texts = (uint64_t)report_keep(report, name) << 32 | report_keep(report, module);

	return base_hash64(base_hash64((uint64_t)parent << 8 | node->kind) ^ texts);
}

static int add_node(struct joined *j, const struct attar_section *tree,
	const struct tree_node *node, uint32_t root)
{
	const char *name = section_text(tree, node->name);
	const char *module = node->module ? section_text(tree, node->module) : NULL;
	uint32_t parent = node->parent == ATTAR_TREE_ROOT ? root : j->of.at[node->parent], number;
	uint64_t hash = hash_of(j, parent, node, name, module), *found = map_get(&j->index, hash);

	if (found) {
		number = (uint32_t)*found;
		if (__builtin_add_overflow(j->to->nodes.at[number].self, node->self,
			    &j->to->nodes.at[number].self))
			j->to->nodes.at[number].self = UINT64_MAX;
	} else {
		number = attar_tree_node(
			j->to, parent, (enum attar_frame_kind)node->kind, name, module, node->self);
		if (map_put(&j->index, hash, number) < 0)
			return -ENOMEM;
	}
	if (j->to->report->fault)
		return j->to->report->error;
	return vec_push(&j->of, number);
}

/* Moves the nodes to the list of all hosts. */
static int keep_nodes(struct joined *j, const struct attar_report *report, fleet_nodes *nodes)
{
	if (vec_push(nodes, (struct fleet_nodes_of){report, j->of.at, j->of.n}) < 0)
		return -ENOMEM;
	j->of = (__typeof__(j->of)){0};
	return 0;
}

int fleet_merge_trees(
	const fleet_sections *all, bool by_host, struct attar_report *out, fleet_nodes *ret_nodes)
{
	const struct attar_section *like = all->at[0].section;
	struct joined j = {
		.to = attar_report_tree(out, section_text(like, like->name), like->unit)};
	int r = 0;

	if (like->weight)
		j.to->weight = report_keep(out, section_text(like, like->weight));
	vec_each (all, it) {
		uint32_t root = ATTAR_TREE_ROOT;

		if (by_host)
			root = attar_tree_node(
				j.to, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, it->host, NULL, 0);
		j.of.n = 0;
		vec_each (&it->section->nodes, node)
			if (r == 0)
				r = add_node(&j, it->section, node, root);
		if (ret_nodes && r == 0)
			r = keep_nodes(&j, it->section->report, ret_nodes);
	}
	map_done(&j.index);
	vec_done(&j.of);
	return r;
}
