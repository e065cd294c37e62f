/* SPDX-License-Identifier: MIT */
#include "report/model/tree.h"

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

int tree_task_order(const void *a, const void *b)
{
	const struct tree_task *x = a, *y = b;

	return (x->node > y->node) - (x->node < y->node);
}

int tree_code_order(const void *a, const void *b)
{
	const struct tree_code *x = a, *y = b;

	return (x->node > y->node) - (x->node < y->node);
}

/* They are mostly added with ascending nodes. */
static void sort_records(
	void *records, size_t n, size_t size, int order(const void *, const void *))
{
	const char *at = records;

	for (size_t i = 1; i < n; i++, at += size)
		if (order(at, at + size) > 0) {
			qsort(records, n, size, order);
			break;
		}
}

static void sort(struct attar_section *tree)
{
	if (tree->sorted_tasks != tree->tasks.n)
		sort_records(
			tree->tasks.at, tree->tasks.n, sizeof(*tree->tasks.at), tree_task_order);
	if (tree->sorted_code != tree->code.n)
		sort_records(tree->code.at, tree->code.n, sizeof(*tree->code.at), tree_code_order);
	tree->sorted_tasks = tree->tasks.n;
	tree->sorted_code = tree->code.n;
}

/* Parents precede children: one pass from the end adds each complete child to its parent. */
void tree_sum(struct attar_section *tree)
{
	struct tree_node *nodes = tree->nodes.at;

	sort(tree);
	if (tree->summed == tree->nodes.n)
		return;
	tree->whole = 0;
	for (size_t i = 0; i < tree->nodes.n; i++)
		nodes[i].total = nodes[i].self;
	for (size_t i = tree->nodes.n; i-- > 0;) {
		uint64_t *sum = nodes[i].parent == ATTAR_TREE_ROOT ? &tree->whole
								   : &nodes[nodes[i].parent].total;

		*sum = add(*sum, nodes[i].total);
	}
	tree->summed = tree->nodes.n;
}

long long tree_parent_id(const struct tree_node *node)
{
	return node->parent == ATTAR_TREE_ROOT ? -1 : (long long)node->parent;
}

const struct tree_task *tree_task_of(const struct attar_section *tree, uint32_t node, size_t *at)
{
	while (*at < tree->tasks.n && tree->tasks.at[*at].node < node)
		++*at;
	if (*at == tree->tasks.n || tree->tasks.at[*at].node != node)
		return NULL;
	return &tree->tasks.at[*at];
}

const struct tree_code *tree_code_of(const struct attar_section *tree, uint32_t node, size_t *at)
{
	while (*at < tree->code.n && tree->code.at[*at].node < node)
		++*at;
	if (*at == tree->code.n || tree->code.at[*at].node != node)
		return NULL;
	return &tree->code.at[*at];
}

const struct tree_source *tree_source_of(
	const struct attar_section *tree, uint32_t node, size_t *at)
{
	while (*at < tree->sources.n && tree->sources.at[*at].node < node)
		++*at;
	if (*at == tree->sources.n || tree->sources.at[*at].node != node)
		return NULL;
	return &tree->sources.at[*at];
}

void tree_set_source(struct attar_section *tree, uint32_t node, const char *function,
	const char *file, unsigned line, bool inlined)
{
	struct tree_source source = {.node = node, .line = line, .inlined = inlined};

	source.function = report_keep(tree->report, function);
	source.file = report_keep(tree->report, file);
	if (!tree->report->fault && vec_push(&tree->sources, source) < 0)
		report_set_out_of_memory(tree->report);
}

double tree_share(const struct attar_section *tree, uint64_t weight)
{
	return tree->whole ? (double)weight / (double)tree->whole : 0;
}

static int by_weight(const void *a, const void *b, void *arg)
{
	const struct attar_section *tree = arg;
	const struct tree_node *x = &tree->nodes.at[*(const uint32_t *)a];
	const struct tree_node *y = &tree->nodes.at[*(const uint32_t *)b];
	int r;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	r = strcmp(section_text(tree, x->name), section_text(tree, y->name));
	return r ? r : (x > y) - (x < y);
}

/* The index of a parent's children in starts; the roots are the first. */
static size_t group_of(uint32_t parent)
{
	return parent == ATTAR_TREE_ROOT ? 0 : (size_t)parent + 1;
}

int tree_order_init(struct tree_order *order, struct attar_section *tree)
{
	size_t n = tree->nodes.n;
	uint32_t *starts;

	tree_sum(tree);
	order->starts = starts = calloc(n + 3, sizeof(*starts));
	order->children = malloc((n + 1) * sizeof(*order->children));
	if (!starts || !order->children)
		return base_oom();
	for (size_t i = 0; i < n; i++)
		starts[group_of(tree->nodes.at[i].parent) + 2]++;
	for (size_t i = 2; i < n + 3; i++)
		starts[i] += starts[i - 1];
	for (size_t i = 0; i < n; i++)
		order->children[starts[group_of(tree->nodes.at[i].parent) + 1]++] = (uint32_t)i;
	for (size_t i = 0; i <= n; i++)
		if (starts[i + 1] - starts[i] > 1)
			qsort_r(order->children + starts[i], starts[i + 1] - starts[i],
				sizeof(*order->children), by_weight, tree);
	return 0;
}

void tree_order_done(struct tree_order *order)
{
	free(order->starts);
	free(order->children);
	*order = (struct tree_order){0};
}

struct tree_range tree_children(const struct tree_order *order, uint32_t node)
{
	const uint32_t *start = order->starts + group_of(node);

	return (struct tree_range){start[0], start[1]};
}

int tree_walk_init(struct tree_walk *walk, struct attar_section *tree)
{
	if (tree_order_init(&walk->order, tree) < 0)
		return -ENOMEM;
	if (vec_push(&walk->open, tree_children(&walk->order, ATTAR_TREE_ROOT)) < 0)
		return base_oom();
	return 0;
}

void tree_walk_done(struct tree_walk *walk)
{
	tree_order_done(&walk->order);
	vec_done(&walk->open);
}

bool tree_walk_next(struct tree_walk *walk, uint32_t *ret_node, uint32_t *ret_depth)
{
	while (walk->open.n) {
		struct tree_range *range = &walk->open.at[walk->open.n - 1];
		uint32_t node;

		if (range->at == range->end) {
			walk->open.n--;
			continue;
		}
		node = walk->order.children[range->at++];
		*ret_node = node;
		*ret_depth = (uint32_t)walk->open.n - 1;
		if (vec_push(&walk->open, tree_children(&walk->order, node)) < 0) {
			walk->failed = true;
			return false;
		}
		return true;
	}
	return false;
}
