/* SPDX-License-Identifier: MIT */
#include "stats/calltree.h"

/* The slot of the child, or the free one where it belongs. */
static uint32_t *slot_of(const struct calltree *t, uint32_t parent, uint32_t key)
{
	size_t mask = t->n_slots - 1, i = base_hash64((uint64_t)parent << 32 | key) & mask;

	for (; t->slots[i]; i = (i + 1) & mask) {
		const struct calltree_node *node = &t->nodes.at[t->slots[i] - 1];

		if (node->parent == parent && node->key == key)
			break;
	}
	return &t->slots[i];
}

static int calltree_grow(struct calltree *t)
{
	size_t n = t->n_slots ? t->n_slots * 2 : 1024;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return base_oom();
	free(t->slots);
	t->slots = slots;
	t->n_slots = n;
	for (uint32_t i = 0; i < t->nodes.n; i++)
		*slot_of(t, t->nodes.at[i].parent, t->nodes.at[i].key) = i + 1;
	return 0;
}

uint32_t calltree_child(struct calltree *t, uint32_t parent, uint32_t key)
{
	uint32_t *slot;

	if ((t->nodes.n + 1) * 4 > t->n_slots * 3 && calltree_grow(t) < 0)
		return CALLTREE_ROOT;
	slot = slot_of(t, parent, key);
	if (*slot)
		return *slot - 1;
	if (vec_push(&t->nodes, (struct calltree_node){.parent = parent, .key = key}) < 0)
		return CALLTREE_ROOT;
	*slot = (uint32_t)t->nodes.n;
	return *slot - 1;
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
	if (t->slots)
		memset(t->slots, 0, t->n_slots * sizeof(*t->slots));
}

void calltree_done(struct calltree *t)
{
	vec_done(&t->path);
	vec_done(&t->nodes);
	free(t->slots);
	t->slots = NULL;
	t->n_slots = 0;
}
