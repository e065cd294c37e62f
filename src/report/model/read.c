/* SPDX-License-Identifier: MIT */
/* Reading reports: the accessors of attar/report.h. */
#include <math.h>

#include "attar/private/report.h"
#include "base/check_arg.h"
#include "report/model/fields.h"
#include "report/model/number.h"
#include "report/model/tree.h"

const char *attar_report_get_profiler(const struct attar_report *report)
{
	CHECK_ARG_OR(report, "report", NULL);

	return report_text(report, report->profiler);
}

void attar_report_get_interval(
	const struct attar_report *report, uint64_t *ret_time, uint64_t *ret_interval_ns)
{
	CHECK_ARG_OR(report, "report", );

	if (ret_time)
		*ret_time = report->time;
	if (ret_interval_ns)
		*ret_interval_ns = report->interval_ns;
}

int attar_report_get_notes(const struct attar_report *report, struct attar_notes *ret_notes)
{
	CHECK_ARG(report, "report");
	CHECK_ARG(ret_notes, "ret_notes");

	if (!report->has_notes)
		return attar_fail(-ENOENT, "the report has no notes");
	*ret_notes = report->notes;
	return 0;
}

const char *attar_report_get_remark(const struct attar_report *report, size_t i)
{
	CHECK_ARG_OR(report, "report", NULL);

	return i < report->remarks.n ? report_text(report, report->remarks.at[i]) : NULL;
}

const struct attar_section *attar_report_get_section(const struct attar_report *report, size_t i)
{
	CHECK_ARG_OR(report, "report", NULL);

	return i < report->sections.n ? report->sections.at[i] : NULL;
}

const struct attar_section *attar_report_find_section(
	const struct attar_report *report, const char *name)
{
	CHECK_ARG_OR(report, "report", NULL);
	CHECK_ARG_OR(name, "name", NULL);

	report_each_section (report, it)
		if (strcmp(section_text(*it, (*it)->name), name) == 0)
			return *it;
	return NULL;
}

const char *attar_section_get_name(const struct attar_section *section)
{
	CHECK_ARG_OR(section, "section", NULL);

	return section_text(section, section->name);
}

enum attar_section_kind attar_section_get_kind(const struct attar_section *section)
{
	CHECK_ARG_OR(section, "section", ATTAR_SECTION_TABLE);

	return section->kind;
}

enum attar_unit attar_section_get_unit(const struct attar_section *section)
{
	CHECK_ARG_OR(section, "section", ATTAR_UNIT_TEXT);

	if (section->kind == ATTAR_SECTION_TREE)
		return section->unit;
	return section->kind == ATTAR_SECTION_HISTOGRAM ? section->columns.at[0].unit
							: ATTAR_UNIT_TEXT;
}

/* ---- columns, rows and cells ---- */

size_t attar_section_get_columns(const struct attar_section *section)
{
	CHECK_ARG_OR(section, "section", 0);

	return section->columns.n;
}

const char *attar_section_get_column(
	const struct attar_section *section, size_t column, enum attar_unit *ret_unit)
{
	CHECK_ARG_OR(section, "section", NULL);

	if (column >= section->columns.n)
		return NULL;
	if (ret_unit)
		*ret_unit = section->columns.at[column].unit;
	return section_text(section, section->columns.at[column].name);
}

size_t attar_section_get_rows(const struct attar_section *section)
{
	CHECK_ARG_OR(section, "section", 0);

	return section->rows;
}

/* Sections are never created const. */
static void expand_fields(const struct attar_section *section)
{
	section_expand_fields((struct attar_section *)(uintptr_t)section);
}

static struct attar_cell public_cell(const struct attar_section *section, struct cell cell)
{
	struct attar_cell out = {.kind = ATTAR_CELL_NONE, .u64 = 0};

	_Static_assert((int)CELL_TEXT == (int)ATTAR_CELL_TEXT, "kinds of cells differ");
	out.kind = (enum attar_cell_kind)cell.kind;
	if (cell.kind == CELL_TEXT)
		out.text = section_text(section, cell.text);
	else
		out.u64 = cell.bits;
	return out;
}

struct attar_cell attar_section_get_cell(
	const struct attar_section *section, size_t row, size_t column)
{
	struct attar_cell none = {.kind = ATTAR_CELL_NONE, .u64 = 0};

	CHECK_ARG_OR(section, "section", none);

	if (row >= section->rows || column >= section->columns.n)
		return none;
	expand_fields(section);
	return public_cell(section, section_cell(section, (uint32_t)row, column));
}

double attar_cell_get_double(struct attar_cell cell)
{
	switch (cell.kind) {
	case ATTAR_CELL_U64:
		return (double)cell.u64;
	case ATTAR_CELL_I64:
		return (double)cell.i64;
	case ATTAR_CELL_DOUBLE:
		return cell.real;
	default:
		return NAN;
	}
}

const char *attar_section_get_detail(const struct attar_section *section, size_t row, size_t i)
{
	CHECK_ARG_OR(section, "section", NULL);

	size_t at;

	if (row >= section->rows)
		return NULL;
	at = section_first_detail(section, (uint32_t)row) + i;
	if (!section_has_detail(section, (uint32_t)row, at))
		return NULL;
	return section_text(section, section->details.at[at].text);
}

static const struct named *named_of(const struct attar_section *section, size_t row, size_t i)
{
	size_t at;

	if (row >= section->rows)
		return NULL;
	expand_fields(section);
	at = section_first_named(section, (uint32_t)row) + i;
	if (at >= section->named.n || section->named.at[at].row != row)
		return NULL;
	return &section->named.at[at];
}

const char *attar_section_get_value(
	const struct attar_section *section, size_t row, size_t i, size_t *ret_n, bool *ret_is_list)
{
	CHECK_ARG_OR(section, "section", NULL);

	const struct named *value = named_of(section, row, i);

	if (!value)
		return NULL;
	if (ret_n)
		*ret_n = value->parts;
	if (ret_is_list)
		*ret_is_list = value->is_list;
	return section_text(section, value->name);
}

struct attar_cell attar_section_get_value_cell(
	const struct attar_section *section, size_t row, size_t i, size_t part)
{
	struct attar_cell none = {.kind = ATTAR_CELL_NONE, .u64 = 0};

	CHECK_ARG_OR(section, "section", none);

	const struct named *value = named_of(section, row, i);

	if (!value || part >= value->parts)
		return none;
	return public_cell(section, section->parts.at[value->first + part]);
}

/* ---- histograms ---- */

int attar_histogram_get_summary(
	const struct attar_section *histogram, struct attar_summary *ret_summary)
{
	CHECK_ARG(histogram, "histogram");
	CHECK_ARG(ret_summary, "ret_summary");

	if (!histogram->summary.is_set)
		return attar_fail(-ENOENT, "the section has no summary");
	*ret_summary = (struct attar_summary){.count = histogram->summary.count,
		.sum = number_value(histogram->summary.sum),
		.min = number_value(histogram->summary.min),
		.max = number_value(histogram->summary.max)};
	return 0;
}

int attar_histogram_get_quantile(
	const struct attar_section *histogram, size_t i, double *ret_share, double *ret_value)
{
	CHECK_ARG(histogram, "histogram");
	CHECK_ARG(ret_share, "ret_share");
	CHECK_ARG(ret_value, "ret_value");

	if (i >= histogram->quantiles.n)
		return attar_fail(-ENOENT, "the section has %zu quantiles", histogram->quantiles.n);
	*ret_share = histogram->quantiles.at[i].share;
	*ret_value = number_value(histogram->quantiles.at[i].value);
	return 0;
}

/* ---- trees ---- */

size_t tree_get_nodes(const struct attar_section *tree)
{
	CHECK_ARG_OR(tree, "tree", 0);

	return tree->nodes.n;
}

/* Sums and sorts on first use: sections are never created const. */
static void prepare_tree(const struct attar_section *tree)
{
	tree_sum((struct attar_section *)(uintptr_t)tree);
}

static void get_task(const struct attar_section *tree, uint32_t number, struct attar_node *ret_node)
{
	struct tree_task key = {.node = number}, *task = NULL;

	if (tree->tasks.n)
		task = bsearch(&key, tree->tasks.at, tree->tasks.n, sizeof(key), tree_task_order);
	if (!task)
		return;
	ret_node->has_task = true;
	ret_node->pid = task->pid;
	ret_node->tid = task->tid;
}

static void get_code(const struct attar_section *tree, uint32_t number, struct attar_node *ret_node)
{
	struct tree_code key = {.node = number}, *code = NULL;

	if (tree->code.n)
		code = bsearch(&key, tree->code.at, tree->code.n, sizeof(key), tree_code_order);
	if (!code)
		return;
	ret_node->address = code->address;
	ret_node->first_time = code->first_time;
	ret_node->build_id = code->build_id ? section_text(tree, code->build_id) : NULL;
}

int attar_tree_get_node(
	const struct attar_section *tree, uint32_t number, struct attar_node *ret_node)
{
	CHECK_ARG(tree, "tree");
	CHECK_ARG(ret_node, "ret_node");

	const struct tree_node *node;

	if (number >= tree->nodes.n)
		return attar_fail(-ENOENT, "the tree has %zu nodes", tree->nodes.n);
	prepare_tree(tree);
	node = &tree->nodes.at[number];
	*ret_node = (struct attar_node){.parent = node->parent,
		.kind = (enum attar_frame_kind)node->kind,
		.name = section_text(tree, node->name),
		.module = node->module ? section_text(tree, node->module) : NULL,
		.self = node->self,
		.total = node->total};
	get_task(tree, number, ret_node);
	get_code(tree, number, ret_node);
	return 0;
}
