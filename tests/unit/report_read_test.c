/* SPDX-License-Identifier: MIT */
/* Everything that is put into a report can be read back. */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "attar/private/report.h"
#include "attar/report.h"

static void test_head_and_notes(void **state)
{
	const struct attar_cpu_count missing[] = {{1, 3}, {-1, 1}};
	struct attar_notes given = {.seen = 7, .lost = UINT64_MAX, .missing = 4};
	struct attar_report *report = attar_report_new("profile");
	uint64_t time = 1, interval = 1;
	struct attar_notes notes;

	assert_string_equal(attar_report_get_profiler(report), "profile");
	attar_report_get_interval(report, &time, &interval);
	assert_int_equal(time, 0);
	assert_int_equal(interval, 0);
	assert_int_equal(attar_report_get_notes(report, &notes), -ENOENT);
	assert_string_equal(attar_error(), "the report has no notes");
	assert_null(attar_report_get_remark(report, 0));
	given.missing_by_cpu = missing;
	given.n_missing_by_cpu = 2;
	attar_report_notes(report, &given);
	attar_report_interval(report, 1700000000000000001, 5);
	attar_report_remark(report, "only %d of 4 CPUs", 3);
	attar_report_get_interval(report, NULL, &interval);
	attar_report_get_interval(report, &time, NULL);
	assert_int_equal(time, 1700000000000000001);
	assert_int_equal(interval, 5);
	assert_int_equal(attar_report_get_notes(report, &notes), 0);
	assert_int_equal(notes.seen, 7);
	assert_true(notes.lost == UINT64_MAX);
	assert_int_equal(notes.n_missing_by_cpu, 2);
	assert_int_equal(notes.missing_by_cpu[1].cpu, -1);
	assert_int_equal(notes.missing_by_cpu[0].count, 3);
	assert_string_equal(attar_report_get_remark(report, 0), "only 3 of 4 CPUs");
	assert_null(attar_report_get_remark(report, 1));
	attar_report_free(report);
}

static void test_sections_in_order(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *a = attar_report_table(report, "a");
	struct attar_section *b = attar_report_tree(report, "b", ATTAR_UNIT_BYTES);
	struct attar_section *c = attar_report_histogram(report, "c", ATTAR_UNIT_NS);
	struct attar_section *d = attar_report_time_series(report, "d");

	attar_report_events(report, "a");
	assert_ptr_equal(attar_report_get_section(report, 0), a);
	assert_ptr_equal(attar_report_get_section(report, 3), d);
	assert_null(attar_report_get_section(report, 5));
	assert_ptr_equal(attar_report_find_section(report, "a"), a);
	assert_null(attar_report_find_section(report, "e"));
	assert_string_equal(attar_section_get_name(b), "b");
	assert_int_equal(attar_section_get_kind(a), ATTAR_SECTION_TABLE);
	assert_int_equal(attar_section_get_kind(b), ATTAR_SECTION_TREE);
	assert_int_equal(attar_section_get_kind(c), ATTAR_SECTION_HISTOGRAM);
	assert_int_equal(attar_section_get_kind(d), ATTAR_SECTION_TIME_SERIES);
	assert_int_equal(attar_section_get_unit(a), ATTAR_UNIT_TEXT);
	assert_int_equal(attar_section_get_unit(b), ATTAR_UNIT_BYTES);
	assert_int_equal(attar_section_get_unit(c), ATTAR_UNIT_NS);
	attar_report_free(report);
}

static void test_typed_cells(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *s = attar_report_table(report, "t");
	enum attar_unit unit = ATTAR_UNIT_TEXT;
	struct attar_cell cell;

	attar_section_column(s, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(s, "wait", ATTAR_UNIT_NS);
	attar_section_row(s);
	attar_cell_text(s, "a\nb");
	attar_cell_u64(s, UINT64_MAX);
	attar_section_row(s);
	attar_cell_none(s);
	attar_cell_i64(s, INT64_MIN);
	attar_section_row(s);
	attar_cell_text(s, "");
	attar_cell_double(s, 0.25);
	assert_int_equal(attar_section_get_columns(s), 2);
	assert_string_equal(attar_section_get_column(s, 1, &unit), "wait");
	assert_int_equal(unit, ATTAR_UNIT_NS);
	assert_null(attar_section_get_column(s, 2, NULL));
	assert_int_equal(attar_section_get_rows(s), 3);
	cell = attar_section_get_cell(s, 0, 0);
	assert_int_equal(cell.kind, ATTAR_CELL_TEXT);
	assert_string_equal(cell.text, "a\nb");
	assert_true(isnan(attar_cell_get_double(cell)));
	cell = attar_section_get_cell(s, 0, 1);
	assert_int_equal(cell.kind, ATTAR_CELL_U64);
	assert_true(cell.u64 == UINT64_MAX && attar_cell_get_double(cell) == 0x1p64);
	cell = attar_section_get_cell(s, 1, 1);
	assert_int_equal(cell.kind, ATTAR_CELL_I64);
	assert_true(cell.i64 == INT64_MIN && attar_cell_get_double(cell) == -0x1p63);
	cell = attar_section_get_cell(s, 2, 1);
	assert_int_equal(cell.kind, ATTAR_CELL_DOUBLE);
	assert_true(cell.real == 0.25 && attar_cell_get_double(cell) == 0.25);
	assert_int_equal(attar_section_get_cell(s, 1, 0).kind, ATTAR_CELL_NONE);
	assert_int_equal(attar_section_get_cell(s, 3, 0).kind, ATTAR_CELL_NONE);
	assert_int_equal(attar_section_get_cell(s, 0, 2).kind, ATTAR_CELL_NONE);
	assert_true(isnan(attar_cell_get_double(attar_section_get_cell(s, 0, 2))));
	attar_report_free(report);
}

/* Rows 0 and 2 of 4 have details and values. */
static void test_details_and_values(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *s = attar_report_events(report, "e");
	bool is_list = true;
	size_t n = 9;

	attar_section_column(s, "n", ATTAR_UNIT_COUNT);
	for (int i = 0; i < 4; i++) {
		attar_section_row(s);
		if (i % 2)
			continue;
		attar_row_detail(s, i ? "c" : "a");
		attar_row_detail(s, i ? "d" : "  b");
		attar_row_value(s, "pid", false);
		attar_row_value_u64(s, (uint64_t)i);
		attar_row_value(s, "none", false);
		attar_row_value(s, "lots", true);
		for (int k = 0; k < i; k++)
			attar_row_value_text(s, "xyz", (size_t)k + 1);
	}
	assert_string_equal(attar_section_get_detail(s, 0, 1), "  b");
	assert_null(attar_section_get_detail(s, 0, 2));
	assert_null(attar_section_get_detail(s, 1, 0));
	assert_string_equal(attar_section_get_detail(s, 2, 0), "c");
	assert_null(attar_section_get_detail(s, 3, 0));
	assert_null(attar_section_get_detail(s, 4, 0));
	assert_string_equal(attar_section_get_value(s, 2, 0, &n, &is_list), "pid");
	assert_int_equal(n, 1);
	assert_false(is_list);
	assert_int_equal(attar_section_get_value_cell(s, 2, 0, 0).u64, 2);
	assert_int_equal(attar_section_get_value_cell(s, 2, 0, 1).kind, ATTAR_CELL_NONE);
	assert_string_equal(attar_section_get_value(s, 2, 1, &n, NULL), "none");
	assert_int_equal(n, 0);
	assert_string_equal(attar_section_get_value(s, 2, 2, &n, &is_list), "lots");
	assert_int_equal(n, 2);
	assert_true(is_list);
	assert_string_equal(attar_section_get_value_cell(s, 2, 2, 1).text, "xy");
	assert_string_equal(attar_section_get_value(s, 0, 2, &n, NULL), "lots");
	assert_int_equal(n, 0);
	assert_null(attar_section_get_value(s, 2, 3, NULL, NULL));
	assert_null(attar_section_get_value(s, 1, 0, NULL, NULL));
	assert_null(attar_section_get_value(s, 4, 0, NULL, NULL));
	assert_int_equal(attar_section_get_value_cell(s, 1, 0, 0).kind, ATTAR_CELL_NONE);
	attar_report_free(report);
}

static void test_histogram(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *h = attar_report_histogram(report, "h", ATTAR_UNIT_NS);
	struct attar_summary summary;
	double share, value;

	attar_histogram_bucket(h, 1, 2, 3);
	attar_histogram_bucket(h, 2, 4, 5);
	assert_int_equal(attar_histogram_get_summary(h, &summary), -ENOENT);
	assert_int_equal(attar_histogram_get_quantile(h, 0, &share, &value), -ENOENT);
	attar_histogram_summary(h, 8, 17, 1, 3.5);
	attar_histogram_quantile(h, 0.5, 2);
	attar_histogram_quantile(h, 0.99, 3.5);
	assert_int_equal(attar_section_get_rows(h), 2);
	assert_true(attar_section_get_cell(h, 1, 1).real == 4);
	assert_int_equal(attar_section_get_cell(h, 1, 2).u64, 5);
	assert_int_equal(attar_histogram_get_summary(h, &summary), 0);
	assert_int_equal(summary.count, 8);
	assert_true(summary.sum == 17 && summary.min == 1 && summary.max == 3.5);
	assert_int_equal(attar_histogram_get_quantile(h, 1, &share, &value), 0);
	assert_true(share == 0.99 && value == 3.5);
	assert_int_equal(attar_histogram_get_quantile(h, 2, &share, &value), -ENOENT);
	assert_string_equal(attar_error(), "the section has 2 quantiles");
	attar_report_free(report);
}

static void test_time_series(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *s = attar_report_time_series(report, "switches");
	enum attar_unit unit;

	attar_section_column(s, "cpu 0", ATTAR_UNIT_COUNT);
	attar_section_column(s, "wait", ATTAR_UNIT_NS);
	attar_time_series_point(s, 1700000000000000001);
	attar_cell_u64(s, 17);
	attar_cell_double(s, 0.5);
	attar_time_series_point(s, 1700000001000000001);
	attar_cell_u64(s, 18);
	assert_int_equal(attar_section_get_columns(s), 3);
	assert_string_equal(attar_section_get_column(s, 0, &unit), "time");
	assert_int_equal(unit, ATTAR_UNIT_TIME);
	assert_string_equal(attar_section_get_column(s, 1, &unit), "cpu 0");
	assert_int_equal(attar_section_get_rows(s), 2);
	assert_int_equal(attar_section_get_cell(s, 1, 0).u64, 1700000001000000001);
	assert_int_equal(attar_section_get_cell(s, 1, 1).u64, 18);
	assert_int_equal(attar_section_get_cell(s, 1, 2).kind, ATTAR_CELL_NONE);
	attar_report_free(report);
}

static void test_tree(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *s = attar_report_tree(report, "t", ATTAR_UNIT_COUNT);
	uint32_t task = attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, "bash", NULL, 1);
	uint32_t main = attar_tree_node(s, task, ATTAR_FRAME_USER, "main", "/bin/bash", 2);
	uint32_t read = attar_tree_node(s, main, ATTAR_FRAME_KERNEL, "read", "[kernel]", 4);
	struct attar_node node;

	attar_tree_code(s, read, 0xffffffff81000000, NULL, 0);
	attar_tree_code(s, main, 0x1234, "00ff", 1700000000000000001);
	attar_tree_task(s, task, 7, 8);
	assert_int_equal(tree_get_nodes(s), 3);
	assert_int_equal(attar_tree_get_node(s, task, &node), 0);
	assert_true(node.parent == ATTAR_TREE_ROOT);
	assert_int_equal(node.kind, ATTAR_FRAME_TASK);
	assert_string_equal(node.name, "bash");
	assert_null(node.module);
	assert_true(node.has_task);
	assert_int_equal(node.pid, 7);
	assert_int_equal(node.tid, 8);
	assert_int_equal(node.self, 1);
	assert_int_equal(node.total, 7);
	assert_int_equal(node.address, 0);
	assert_null(node.build_id);
	assert_int_equal(attar_tree_get_node(s, main, &node), 0);
	assert_int_equal(node.parent, task);
	assert_string_equal(node.module, "/bin/bash");
	assert_false(node.has_task);
	assert_int_equal(node.address, 0x1234);
	assert_string_equal(node.build_id, "00ff");
	assert_int_equal(node.first_time, 1700000000000000001);
	assert_int_equal(attar_tree_get_node(s, read, &node), 0);
	assert_true(node.address == 0xffffffff81000000);
	assert_null(node.build_id);
	assert_int_equal(attar_tree_get_node(s, 3, &node), -ENOENT);
	assert_string_equal(attar_error(), "the tree has 3 nodes");
	/* A node that is added after the first reading. */
	attar_tree_node(s, read, ATTAR_FRAME_KERNEL, "deeper", NULL, 8);
	assert_int_equal(attar_tree_get_node(s, task, &node), 0);
	assert_int_equal(node.total, 15);
	attar_report_free(report);
}

static void assert_order(struct attar_section *s, size_t column, bool descending, const char *order)
{
	char found[16] = "";

	section_sort(s, column, descending);
	for (size_t row = 0; row < attar_section_get_rows(s); row++) {
		const char *name = attar_section_get_cell(s, row, 0).text;

		strcat(found, name);
		assert_string_equal(attar_section_get_detail(s, row, 1), name);
		assert_null(attar_section_get_detail(s, row, 2));
		assert_string_equal(attar_section_get_value_cell(s, row, 0, 0).text, name);
		assert_int_equal(attar_section_get_value_cell(s, row, 1, 1).u64, *name);
	}
	assert_string_equal(found, order);
}

/*
 * Numbers of all kinds in exact order, none and NaN last; details and values stay with their rows.
 */
static void test_sort(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *s = attar_report_table(report, "t");

	attar_section_column(s, "name", ATTAR_UNIT_TEXT);
	attar_section_column(s, "n", ATTAR_UNIT_COUNT);
	for (int i = 0; i < 7; i++) {
		char name[] = {(char)('a' + i), '\0'};

		attar_section_row(s);
		attar_cell_text(s, name);
		if (i == 1)
			attar_cell_u64(s, UINT64_MAX);
		else if (i == 2)
			attar_cell_u64(s, UINT64_MAX - 1);
		else if (i == 3)
			attar_cell_i64(s, -5);
		else if (i == 4)
			attar_cell_double(s, NAN);
		else if (i == 5)
			attar_cell_double(s, 0.5);
		else if (i == 6)
			attar_cell_text(s, "10");
		attar_row_detail(s, "first");
		attar_row_detail(s, name);
		attar_row_value(s, "name", false);
		attar_row_value_text(s, name, 1);
		attar_row_value(s, "list", true);
		attar_row_value_u64(s, 0);
		attar_row_value_u64(s, (uint64_t)name[0]);
	}
	assert_order(s, 1, true, "bcfdgae");
	assert_order(s, 1, false, "dfcbgae");
	assert_order(s, 0, true, "gfedcba");
	assert_order(s, 0, false, "abcdefg");
	attar_report_free(report);
}

static void assert_fault(struct attar_report *report, const char *sentence)
{
	struct attar_renderer *renderer = NULL;

	assert_int_equal(attar_renderer_new("json", stdout, NULL, &renderer), 0);
	assert_int_equal(attar_renderer_draw(renderer, report), -EINVAL);
	assert_non_null(strstr(attar_error(), sentence));
	attar_renderer_free(renderer);
	attar_report_free(report);
}

static void test_wrong_calls_are_faults_of_the_report(void **state)
{
	struct attar_report *report = attar_report_new("p");

	attar_histogram_summary(attar_report_table(report, "t"), 1, 1, 1, 1);
	assert_fault(report, "a summary was set for a section without buckets");
	report = attar_report_new("p");
	attar_histogram_quantile(attar_report_table(report, "t"), 0.5, 1);
	assert_fault(report, "a quantile was added to a section without buckets");
	for (int i = 0; i < 4; i++) {
		struct attar_section *h;

		report = attar_report_new("p");
		h = attar_report_histogram(report, "h", ATTAR_UNIT_NS);
		attar_histogram_quantile(h, 0.5, 1);
		attar_histogram_quantile(h, (double[]){0.5, 0.4, 1.1, NAN}[i], 1);
		assert_fault(report, "the quantiles of a histogram are not in ascending order");
	}
	report = attar_report_new("p");
	section_sort(attar_report_histogram(report, "h", ATTAR_UNIT_NS), 9, true);
	attar_report_free(report);
	report = attar_report_new("p");
	attar_histogram_bucket(attar_report_histogram(report, "h", ATTAR_UNIT_NS), 1, 2, 3);
	section_sort(
		(struct attar_section *)(uintptr_t)attar_report_get_section(report, 0), 3, true);
	assert_fault(report, "a section was sorted by a column that does not exist");
	report = attar_report_new("p");
	attar_tree_code(attar_report_tree(report, "t", ATTAR_UNIT_COUNT), 0, 1, NULL, 1);
	assert_fault(report, "code was set for a tree node that does not exist");
	for (int i = 0; i < 3; i++) {
		struct attar_section *s;

		report = attar_report_new("p");
		s = attar_report_tree(report, "t", ATTAR_UNIT_COUNT);
		attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_USER, "f", NULL, 1);
		attar_tree_code(s, 0, 1, (const char *[]){"", "00FF", "<b>"}[i], 1);
		assert_fault(report, "a build ID is not a hexadecimal number");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head_and_notes),
		cmocka_unit_test(test_sections_in_order),
		cmocka_unit_test(test_typed_cells),
		cmocka_unit_test(test_details_and_values),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_time_series),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_wrong_calls_are_faults_of_the_report),
	};

	return cmocka_run_group_tests_name("report_read", tests, NULL, NULL);
}
