/* SPDX-License-Identifier: MIT */
/* One call tree of both sides, for differential flame graphs. */
#include <math.h>

#include "base/map.h"
#include "report/diff/parts.h"
#include "report/model/model.h"
#include "report/model/tree.h"

/* A node of both trees. Tasks of one name are one: their pids differ. */
struct both_node {
	uint32_t parent;
	const struct attar_section *tree; /* that has it first, as this node: */
	uint32_t node;
	uint64_t self[SIDES], total[SIDES];
};

struct both {
	struct intern texts;
	struct map index; /* hash of parent, kind, name and module -> number */
	VEC(struct both_node) nodes;
	VEC(uint32_t) of; /* the number of each node of the tree that is added */
};

static void both_done(struct both *b)
{
	intern_done(&b->texts);
	map_done(&b->index);
	vec_done(&b->nodes);
	vec_done(&b->of);
}

static int add_node(struct both *b, const struct attar_section *tree, uint32_t number, int side)
{
	const struct tree_node *node = &tree->nodes.at[number];
	struct both_node new = {.parent = ATTAR_TREE_ROOT, .tree = tree, .node = number};
	uint32_t name, module;
	uint64_t key, *found;

	if (node->parent != ATTAR_TREE_ROOT)
		new.parent = b->of.at[node->parent];
	if (intern_id(&b->texts, section_text(tree, node->name), &name) < 0 ||
		intern_id(&b->texts, section_text(tree, node->module), &module) < 0)
		return -ENOMEM;
	key = base_hash64((uint64_t) new.parent << 8 | node->kind);
	key = base_hash64(key ^ ((uint64_t)name << 32 | module));
	found = map_get(&b->index, key);
	if (!found && (map_put(&b->index, key, b->nodes.n) < 0 || vec_push(&b->nodes, new) < 0))
		return -ENOMEM;
	name = (uint32_t)(found ? *found : b->nodes.n - 1);
	b->nodes.at[name].self[side] += node->self;
	return vec_push(&b->of, name);
}

static int add_tree(struct both *b, const struct attar_section *tree, int side)
{
	int e = 0;

	b->of.n = 0;
	for (uint32_t n = 0; n < tree->nodes.n && e == 0; n++)
		e = add_node(b, tree, n, side);
	return e;
}

/* Parents precede their children. */
static void sum_up(struct both *b, uint64_t whole[SIDES])
{
	for (size_t i = b->nodes.n; i-- > 0;) {
		struct both_node *node = &b->nodes.at[i];

		for (int side = BEFORE; side < SIDES; side++) {
			node->total[side] += node->self[side];
			if (node->parent == ATTAR_TREE_ROOT)
				whole[side] += node->total[side];
			else
				b->nodes.at[node->parent].total[side] += node->total[side];
		}
	}
}

/* The change of a node's share, -100 (it is gone) to 100 (it is new). */
static int8_t change_of(const struct both_node *node, const uint64_t whole[SIDES])
{
	double before = whole[BEFORE] ? (double)node->total[BEFORE] / (double)whole[BEFORE] : 0;
	double after = whole[AFTER] ? (double)node->total[AFTER] / (double)whole[AFTER] : 0;
	double most = fmax(before, after);

	return most > 0 ? (int8_t)lround(100 * (after - before) / most) : 0;
}

int diff_tree(struct diff *d, const struct attar_section *like)
{
	struct both b _cleanup_(both_done) = {0};
	const char *name = section_text(like, like->name);
	uint64_t whole[SIDES] = {0};
	struct attar_section *out;
	int e = 0;

	for (int side = BEFORE; side < SIDES; side++)
		side_each(&d->sides[side], report)
		{
			const struct attar_section *tree =
				diff_find(*report, name, ATTAR_SECTION_TREE);

			if (tree && e == 0)
				e = add_tree(&b, tree, side);
		}
	sum_up(&b, whole);
	out = attar_report_tree(d->out, name, like->unit);
	vec_each (&b.nodes, it) {
		const struct tree_node *node = &it->tree->nodes.at[it->node];

		attar_tree_node(out, it->parent, (enum attar_frame_kind)node->kind,
			section_text(it->tree, node->name),
			node->module ? section_text(it->tree, node->module) : NULL,
			it->self[AFTER]);
		if (e == 0)
			e = vec_push(&out->changes, change_of(it, whole));
	}
	return e;
}
