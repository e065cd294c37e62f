/* SPDX-License-Identifier: MIT */
/*
 * Copies a report: a hook of a run has its report for the call only, and Python objects are made of
 * it later, when they are asked for.
 */
#include "native.h"

static void copy_cell(struct attar_section *to, struct attar_cell cell)
{
	switch (cell.kind) {
	case ATTAR_CELL_U64:
		attar_cell_u64(to, cell.u64);
		break;
	case ATTAR_CELL_I64:
		attar_cell_i64(to, cell.i64);
		break;
	case ATTAR_CELL_DOUBLE:
		attar_cell_double(to, cell.real);
		break;
	case ATTAR_CELL_TEXT:
		attar_cell_text(to, cell.text);
		break;
	case ATTAR_CELL_NONE:
		attar_cell_none(to);
		break;
	}
}

static void copy_value(struct attar_section *to, struct attar_cell cell)
{
	switch (cell.kind) {
	case ATTAR_CELL_U64:
		attar_row_value_u64(to, cell.u64);
		break;
	case ATTAR_CELL_I64:
		attar_row_value_i64(to, cell.i64);
		break;
	case ATTAR_CELL_DOUBLE:
		attar_row_value_double(to, cell.real);
		break;
	case ATTAR_CELL_TEXT:
		attar_row_value_text(to, cell.text, strlen(cell.text));
		break;
	case ATTAR_CELL_NONE:
		break;
	}
}

static void copy_row_extras(struct attar_section *to, const struct attar_section *from, size_t row)
{
	const char *text;
	bool is_list;
	size_t n;

	for (size_t i = 0; (text = attar_section_get_detail(from, row, i)); i++)
		attar_row_detail(to, text);
	for (size_t i = 0; (text = attar_section_get_value(from, row, i, &n, &is_list)); i++) {
		attar_row_value(to, text, is_list);
		for (size_t part = 0; part < n; part++)
			copy_value(to, attar_section_get_value_cell(from, row, i, part));
	}
}

/* first: 1 for a time series, whose column of times exists already. */
static void copy_table(struct attar_section *to, const struct attar_section *from, size_t first)
{
	size_t columns = attar_section_get_columns(from), rows = attar_section_get_rows(from);

	for (size_t i = first; i < columns; i++) {
		enum attar_unit unit;
		const char *name = attar_section_get_column(from, i, &unit);

		attar_section_column(to, name, unit);
	}
	for (size_t row = 0; row < rows; row++) {
		if (first)
			attar_time_series_point(to, attar_section_get_cell(from, row, 0).u64);
		else
			attar_section_row(to);
		for (size_t i = first; i < columns; i++)
			copy_cell(to, attar_section_get_cell(from, row, i));
		copy_row_extras(to, from, row);
	}
}

static void copy_tree(struct attar_section *to, const struct attar_section *from)
{
	struct attar_node node;

	for (uint32_t i = 0; attar_tree_get_node(from, i, &node) == 0; i++) {
		attar_tree_node(to, node.parent, node.kind, node.name, node.module, node.self);
		if (node.has_task)
			attar_tree_task(to, i, node.pid, node.tid);
		attar_tree_code(to, i, node.address, node.build_id, node.first_time);
	}
}

static void copy_histogram(struct attar_section *to, const struct attar_section *from)
{
	struct attar_summary summary;
	double share, value;

	for (size_t i = 0; i < attar_section_get_rows(from); i++)
		attar_histogram_bucket(to,
			attar_cell_get_double(attar_section_get_cell(from, i, 0)),
			attar_cell_get_double(attar_section_get_cell(from, i, 1)),
			attar_section_get_cell(from, i, 2).u64);
	if (attar_histogram_get_summary(from, &summary) == 0)
		attar_histogram_summary(to, summary.count, summary.sum, summary.min, summary.max);
	for (size_t i = 0; attar_histogram_get_quantile(from, i, &share, &value) == 0; i++)
		attar_histogram_quantile(to, share, value);
}

static void copy_section(struct attar_report *to, const struct attar_section *from)
{
	const char *name = attar_section_get_name(from);
	enum attar_unit unit = attar_section_get_unit(from);

	switch (attar_section_get_kind(from)) {
	case ATTAR_SECTION_TABLE:
		copy_table(attar_report_table(to, name), from, 0);
		break;
	case ATTAR_SECTION_EVENTS:
		copy_table(attar_report_events(to, name), from, 0);
		break;
	case ATTAR_SECTION_TIME_SERIES:
		copy_table(attar_report_time_series(to, name), from, 1);
		break;
	case ATTAR_SECTION_TREE:
		copy_tree(attar_report_tree(to, name, unit), from);
		break;
	case ATTAR_SECTION_HISTOGRAM:
		copy_histogram(attar_report_histogram(to, name, unit), from);
		break;
	case ATTAR_SECTION_SPANS: /* not requested: attar_run_hooks.want_spans */
		break;
	}
}

struct attar_report *report_copy(const struct attar_report *report)
{
	struct attar_report *to = attar_report_new(attar_report_get_profiler(report));
	const struct attar_section *section;
	struct attar_notes notes;
	uint64_t time, interval;
	const char *remark;

	if (!to)
		return NULL;
	attar_report_get_interval(report, &time, &interval);
	attar_report_interval(to, time, interval);
	if (attar_report_get_notes(report, &notes) == 0)
		attar_report_notes(to, &notes);
	for (size_t i = 0; (remark = attar_report_get_remark(report, i)); i++)
		attar_report_remark(to, "%s", remark);
	for (size_t i = 0; (section = attar_report_get_section(report, i)); i++)
		copy_section(to, section);
	return to;
}
