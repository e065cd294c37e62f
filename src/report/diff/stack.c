/* SPDX-License-Identifier: MIT */
/* Call trees: the shares of stacks are compared. */
#include <math.h>

#include "base/escape.h"
#include "report/diff/parts.h"
#include "report/model/model.h"
#include "report/model/tree.h"

enum { STACKS_MAX = 200 }; /* rows of the table of stacks */

struct stack_weight {
	uint32_t key;
	double weight[SIDES];
};

struct stack_weights {
	struct intern paths;
	VEC(struct stack_weight) all; /* of path n: n - 1 */
	double whole[SIDES];
};

static void stacks_done(struct stack_weights *w)
{
	intern_done(&w->paths);
	vec_done(&w->all);
}

static void add_path(struct buf *path, const struct attar_section *tree, uint32_t leaf)
{
	VEC(uint32_t) up = {0};

	for (uint32_t n = leaf; n != ATTAR_TREE_ROOT; n = tree->nodes.at[n].parent)
		path->failed |= vec_push(&up, n) < 0;
	while (up.n) {
		const char *name = section_text(tree, tree->nodes.at[up.at[--up.n]].name);

		if (path->len)
			buf_char(path, ';');
		escape_folded(path, *name ? name : "[unknown]", *name ? strlen(name) : 9);
	}
	vec_done(&up);
}

static int add_stack(
	struct stack_weights *w, const struct attar_section *tree, uint32_t leaf, int side)
{
	struct buf path _cleanup_(buf_done) = {0};
	double self = (double)tree->nodes.at[leaf].self;
	uint32_t id;

	add_path(&path, tree, leaf);
	if (buf_failed(&path) || intern_id(&w->paths, buf_text(&path), &id) < 0)
		return -ENOMEM;
	if (w->all.n < id && vec_push(&w->all, (struct stack_weight){.key = id}) < 0)
		return -ENOMEM;
	w->all.at[id - 1].weight[side] += self;
	w->whole[side] += self;
	return 0;
}

/* name: of the trees; NULL: all. */
static int gather_stacks(
	const struct attar_diff_side sides[SIDES], const char *name, struct stack_weights *w)
{
	int e = 0;

	for (int side = BEFORE; side < SIDES; side++)
		side_each(&sides[side], report) report_each_section (*report, it)
		{
			struct attar_section *tree = *it;

			if (tree->kind != ATTAR_SECTION_TREE ||
				(name && strcmp(section_text(tree, tree->name), name) != 0))
				continue;
			for (uint32_t n = 0; n < tree->nodes.n && e == 0; n++)
				if (tree->nodes.at[n].self)
					e = add_stack(w, tree, n, side);
		}
	return e;
}

/* Sample counts have the sampling error of a proportion; times and bytes are exact. */
static void share_of(const struct stack_weights *w, const struct stack_weight *stack, int side,
	enum attar_unit unit, struct change *c)
{
	double whole = w->whole[side], share = whole ? stack->weight[side] / whole : 0;

	c->value[side] = 100 * share;
	c->error[side] = unit == ATTAR_UNIT_COUNT ? diff_share_error(share, whole) : NAN;
}

int diff_stacks(struct diff *d, const struct attar_section *like)
{
	struct stack_weights w _cleanup_(stacks_done) = {0};
	struct buf name _cleanup_(buf_done) = {0};
	VEC(struct change) changes = {0};
	struct attar_section *table;
	int e = gather_stacks(d->sides, section_text(like, like->name), &w);

	vec_each (&w.all, it) {
		struct change c = {.key = it->key};

		for (int side = BEFORE; side < SIDES; side++)
			share_of(&w, it, side, like->unit, &c);
		diff_set_confidence(d, &c, ATTAR_UNIT_PERCENT, w.all.n, true);
		if (e == 0)
			e = vec_push(&changes, c);
	}
	diff_sort(changes.at, changes.n);
	buf_printf(&name, "%s: share", section_text(like, like->name));
	table = attar_report_table(d->out, buf_text(&name));
	diff_add_columns(table, ATTAR_UNIT_PERCENT);
	attar_section_column(table, "stack", ATTAR_UNIT_TEXT);
	for (size_t i = 0; i < MIN(changes.n, (size_t)STACKS_MAX); i++) {
		diff_add_change(table, &changes.at[i]);
		attar_cell_text(table, intern_get(&w.paths, changes.at[i].key));
	}
	vec_done(&changes);
	return e == 0 && d->opts->want_trees ? diff_tree(d, like) : e;
}

int diff_folded(const struct attar_diff_side sides[SIDES], FILE *out)
{
	struct stack_weights w _cleanup_(stacks_done) = {0};

	if (gather_stacks(sides, NULL, &w) < 0)
		return base_oom();
	vec_each (&w.all, it)
		fprintf(out, "%s %.0f %.0f\n", intern_get(&w.paths, it->key), it->weight[BEFORE],
			it->weight[AFTER]);
	return fflush(out) != 0 || ferror(out) ? -errno : 0;
}
