/* SPDX-License-Identifier: MIT */
/* Building call trees. */
#include "attar/private/report.h"
#include "base/check_arg.h"
#include "report/model/tree.h"

struct attar_section *attar_report_tree(
	struct attar_report *report, const char *name, enum attar_unit unit)
{
	CHECK_ARG_OR(report, "report", NULL);

	struct attar_section *section = report_add_section(report, ATTAR_SECTION_TREE, name);

	if ((size_t)unit > ATTAR_UNIT_CLOCK)
		report_set_failed(report, "a tree has an unknown unit");
	section->unit = unit;
	section->cutoff = 0.005;
	return section;
}

void section_for_trees(struct attar_section *section)
{
	CHECK_ARG_OR(section, "section", );

	section->is_for_trees = true;
}

void tree_set_cpu(struct attar_section *tree, uint32_t node, double ns)
{
	CHECK_ARG_OR(tree, "tree", );

	if (tree->report->fault)
		return;
	if (node != ATTAR_TREE_ROOT && node >= tree->nodes.n)
		report_set_failed(tree->report, "tree_set_cpu() has a node that does not exist");
	else if (vec_push(&tree->cpu, ((struct tree_cpu){node, ns})) < 0)
		report_set_out_of_memory(tree->report);
}

uint32_t tree_add_node(struct attar_section *tree, const struct tree_node *node)
{
	if (tree->report->fault)
		return 0;
	if (tree->kind != ATTAR_SECTION_TREE || tree->nodes.n >= ATTAR_TREE_ROOT ||
		(node->parent != ATTAR_TREE_ROOT && node->parent >= tree->nodes.n)) {
		report_set_failed(tree->report, "a tree node was added before its parent");
		return 0;
	}
	if (vec_push(&tree->nodes, *node) < 0)
		report_set_out_of_memory(tree->report);
	return (uint32_t)tree->nodes.n - 1;
}

uint32_t attar_tree_node(struct attar_section *tree, uint32_t parent, enum attar_frame_kind kind,
	const char *name, const char *module, uint64_t self)
{
	CHECK_ARG_OR(tree, "tree", 0);

	struct attar_report *report = tree->report;
	struct tree_node node = {.parent = parent, .kind = kind, .self = self};
	uint32_t id;

	if (report->fault)
		return 0;
	if ((size_t)kind > ATTAR_FRAME_TASK) {
		report_set_failed(report, "a tree node has an unknown kind");
		return 0;
	}
	node.name = report_keep(report, name);
	id = report_keep(report, module);
	node.module = id & (TREE_MODULES - 1);
	if (id >= TREE_MODULES)
		report_set_out_of_memory(report);
	return tree_add_node(tree, &node);
}

void attar_tree_task(struct attar_section *tree, uint32_t node, uint32_t pid, uint32_t tid)
{
	CHECK_ARG_OR(tree, "tree", );

	struct attar_report *report = tree->report;

	if (report->fault)
		return;
	if (node >= tree->nodes.n)
		report_set_failed(report, "a task was set for a tree node that does not exist");
	else if (vec_push(&tree->tasks, (struct tree_task){node, pid, tid}) < 0)
		report_set_out_of_memory(report);
}

void tree_cutoff(struct attar_section *tree, double share)
{
	CHECK_ARG_OR(tree, "tree", );

	tree->cutoff = share;
}

void tree_add_code(struct attar_section *tree, const struct tree_code *code)
{
	if (tree->report->fault)
		return;
	if (code->node >= tree->nodes.n)
		report_set_failed(tree->report, "code was set for a tree node that does not exist");
	else if (vec_push(&tree->code, *code) < 0)
		report_set_out_of_memory(tree->report);
}

void attar_tree_code(struct attar_section *tree, uint32_t node, uint64_t address,
	const char *build_id, uint64_t first_time)
{
	CHECK_ARG_OR(tree, "tree", );

	struct attar_report *report = tree->report;
	struct tree_code code = {.node = node, .address = address, .first_time = first_time};

	code.build_id = report_keep(report, build_id);
	if (build_id && (!*build_id || build_id[strspn(build_id, "0123456789abcdef")]))
		report_set_failed(report, "a build ID is not a hexadecimal number");
	tree_add_code(tree, &code);
}
