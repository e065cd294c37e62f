/* SPDX-License-Identifier: MIT */
#include "drawing.h"

#include <locale.h>

#include "base/buf.h"

static const struct attar_render_opts plain = {0};

static void test_whole_report(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_notes notes = {10, 2, 1, 0.25, 0.008, 4096, false, 7, 3};
	struct attar_section *s = attar_report_table(report, "functions");
	uint32_t task, main;

	attar_report_interval(report, 1700000000123456789, 1000000000);
	attar_report_notes(report, &notes);
	attar_report_remark(report, "only %d of 4 CPUs", 3);
	attar_section_column(s, "self", ATTAR_UNIT_PERCENT);
	attar_section_column(s, "symbol", ATTAR_UNIT_TEXT);
	attar_section_row(s);
	attar_cell_double(s, 70.1);
	attar_cell_text(s, "hot");
	s = attar_report_tree(report, "stacks", ATTAR_UNIT_COUNT);
	task = attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, "split", NULL, 0);
	main = attar_tree_node(s, task, ATTAR_FRAME_USER, "main", "split", 3);
	attar_tree_node(s, main, ATTAR_FRAME_KERNEL, "read", "[kernel]", 7);
	attar_tree_task(s, task, 12, 0);
	s = attar_report_histogram(report, "latency", ATTAR_UNIT_NS);
	attar_histogram_bucket(s, 0, 0.5, 9);
	assert_drawn("json", plain, report,
		"{\"schema\":\"attar/1\",\"profiler\":\"profile\","
		"\"time\":1700000000123456789,\"interval_ns\":1000000000,\"sections\":["
		"{\"name\":\"functions\",\"kind\":\"table\",\"columns\":["
		"{\"name\":\"self\",\"unit\":\"percent\"},"
		"{\"name\":\"symbol\",\"unit\":\"text\"}],\"rows\":[[70.1,\"hot\"]]},"
		"{\"name\":\"stacks\",\"kind\":\"tree\",\"columns\":["
		"{\"name\":\"parent\",\"unit\":\"id\"},{\"name\":\"kind\",\"unit\":\"text\"},"
		"{\"name\":\"name\",\"unit\":\"text\"},{\"name\":\"module\",\"unit\":\"text\"},"
		"{\"name\":\"self\",\"unit\":\"count\"},{\"name\":\"total\",\"unit\":\"count\"},"
		"{\"name\":\"pid\",\"unit\":\"id\"},{\"name\":\"tid\",\"unit\":\"id\"}],\"rows\":["
		"[-1,\"task\",\"split\",null,0,10,12,null],"
		"[0,\"user\",\"main\",\"split\",3,10,null,null],"
		"[1,\"kernel\",\"read\",\"[kernel]\",7,7,null,null]]},"
		"{\"name\":\"latency\",\"kind\":\"histogram\",\"columns\":["
		"{\"name\":\"low\",\"unit\":\"ns\"},{\"name\":\"high\",\"unit\":\"ns\"},"
		"{\"name\":\"count\",\"unit\":\"count\"}],\"rows\":[[0,0.5,9]]}],"
		"\"remarks\":[\"only 3 of 4 CPUs\"],"
		"\"notes\":{\"seen\":10,\"lost\":2,\"lost_side_band\":0,\"missing\":0,"
		"\"missing_by_cpu\":[],\"throttled\":1,\"unresolved\":0.25,"
		"\"self_cpu\":0.008,\"self_rss\":4096,\"unprinted\":7,\"unprinted_reports\":3,"
		"\"buffer_size\":0,\"buffer_peak\":0,\"unstored\":0}}\n");
}

enum { REPEATED_COLUMNS = 10, REPEATED_ROWS = 50 };

static void add_random_cell(struct attar_section *s, struct buf *expected)
{
	static const char *const texts[] = {"a", "say \\\"x\\\"",
		"a text that is longer than what is kept of a cell of the row before it"};
	static const char *const cells[] = {"a", "say \"x\"",
		"a text that is longer than what is kept of a cell of the row before it"};
	int pick = rand() % 6;

	if (pick < 3) {
		attar_cell_text(s, cells[pick]);
		buf_printf(expected, "\"%s\"", texts[pick]);
	} else if (pick == 3) {
		attar_cell_none(s);
		buf_str(expected, "null");
	} else if (pick == 4) {
		attar_cell_u64(s, UINT64_MAX);
		buf_str(expected, "18446744073709551615");
	} else {
		attar_cell_i64(s, -1); /* the same bits */
		buf_str(expected, "-1");
	}
}

/* Cells that are equal to those of the row before, and others. */
static void test_repeated_cells(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *s = attar_report_table(report, "t");
	struct buf expected = {0};
	char *drawn;

	buf_str(&expected, "\"rows\":[");
	for (int i = 0; i < REPEATED_COLUMNS; i++)
		attar_section_column(s, "c", ATTAR_UNIT_ID);
	for (int row = 0; row < REPEATED_ROWS; row++) {
		attar_section_row(s);
		buf_str(&expected, row ? ",[" : "[");
		for (int i = 0; i < REPEATED_COLUMNS; i++) {
			if (i)
				buf_char(&expected, ',');
			add_random_cell(s, &expected);
		}
		buf_char(&expected, ']');
	}
	buf_char(&expected, ']');
	drawn = draw_one("json", plain, report);
	assert_non_null(strstr(drawn, buf_text(&expected)));
	free(drawn);
	buf_done(&expected);
}

static void test_numbers_without_a_json_form_are_null(void **state)
{
	struct attar_report *report = attar_report_new("p");
	const struct attar_cpu_count missing[] = {{1, 3}, {-1, 1}};
	struct attar_notes notes = {
		UINT64_MAX, 0, 0, -1, 0.0 / 0.0, 0, false, 0, 0, 5, 4, missing, 2};
	struct attar_section *s = attar_report_table(report, "t");

	attar_report_notes(report, &notes);
	attar_section_column(s, "a", ATTAR_UNIT_COUNT);
	attar_section_column(s, "b", ATTAR_UNIT_HEX);
	for (int i = 0; i < 4; i++) {
		attar_section_row(s);
		attar_cell_double(s, (double[]){0.0 / 0.0, 1 / 0.0, -1 / 0.0, 1e300}[i]);
		if (i % 2)
			attar_cell_u64(s, UINT64_MAX);
	}
	attar_section_row(s);
	attar_cell_i64(s, INT64_MIN);
	assert_drawn("json", plain, report,
		"{\"schema\":\"attar/1\",\"profiler\":\"p\",\"time\":0,\"interval_ns\":0,"
		"\"sections\":[{\"name\":\"t\",\"kind\":\"table\",\"columns\":["
		"{\"name\":\"a\",\"unit\":\"count\"},{\"name\":\"b\",\"unit\":\"hex\"}],\"rows\":["
		"[null,null],[null,18446744073709551615],[null,null],"
		"[1e+300,18446744073709551615],[-9223372036854775808,null]]}],"
		"\"notes\":{\"seen\":18446744073709551615,\"lost\":0,\"lost_side_band\":5,"
		"\"missing\":4,\"missing_by_cpu\":[{\"cpu\":1,\"missing\":3},"
		"{\"cpu\":null,\"missing\":1}],\"throttled\":0,"
		"\"unresolved\":null,\"self_cpu\":null,\"self_rss\":0,"
		"\"unprinted\":0,\"unprinted_reports\":0,"
		"\"buffer_size\":0,\"buffer_peak\":0,\"unstored\":0}}\n");
}

static void test_hostile_text_and_details(void **state)
{
	struct attar_report *report = attar_report_new("p\"");
	struct attar_section *s = attar_report_events(report, "e");

	attar_section_column(s, "comm", ATTAR_UNIT_TEXT);
	attar_section_row(s);
	attar_cell_text(s, "\"\\\n\x01\xff\xed\xa0\x80</script>");
	attar_section_row(s);
	attar_cell_text(s, "");
	attar_row_detail(s, "   a");
	attar_row_detail(s, "b\t");
	assert_drawn("json", plain, report,
		"{\"schema\":\"attar/1\",\"profiler\":\"p\\\"\",\"time\":0,\"interval_ns\":0,"
		"\"sections\":[{\"name\":\"e\",\"kind\":\"events\",\"columns\":["
		"{\"name\":\"comm\",\"unit\":\"text\"},{\"name\":\"detail\",\"unit\":\"lines\"}],"
		"\"rows\":[["
		"\"\\\"\\\\\\u000a\\u0001\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
		"</script>\",[]],[\"\",[\"a\",\"b\\u0009\"]]]}],\"notes\":null}\n");
}

static void test_histogram_with_summary_and_quantiles(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *s = attar_report_histogram(report, "h", ATTAR_UNIT_NS);

	attar_histogram_bucket(s, 0, 8, 3);
	attar_histogram_summary(s, 3, 9007199254740992, 0.5, 1 / 0.0);
	attar_histogram_quantile(s, 0.5, 2);
	attar_histogram_quantile(s, 0.999, 7.25);
	assert_drawn("json", plain, report,
		"{\"schema\":\"attar/1\",\"profiler\":\"p\",\"time\":0,\"interval_ns\":0,"
		"\"sections\":[{\"name\":\"h\",\"kind\":\"histogram\",\"columns\":["
		"{\"name\":\"low\",\"unit\":\"ns\"},{\"name\":\"high\",\"unit\":\"ns\"},"
		"{\"name\":\"count\",\"unit\":\"count\"}],\"rows\":[[0,8,3]],"
		"\"summary\":{\"count\":3,\"sum\":9007199254740992,\"min\":0.5,\"max\":null},"
		"\"quantiles\":[{\"share\":0.5,\"value\":2},{\"share\":0.999,\"value\":7.25}]}],"
		"\"notes\":null}\n");
}

static void test_time_series(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *s = attar_report_time_series(report, "s");

	attar_section_column(s, "cpu 0", ATTAR_UNIT_HZ);
	attar_section_column(s, "cpu 1", ATTAR_UNIT_HZ);
	attar_time_series_point(s, 1700000000000000001);
	attar_cell_u64(s, UINT64_MAX);
	attar_cell_double(s, 0.1);
	attar_time_series_point(s, 1700000000000000002);
	assert_drawn("json", plain, report,
		"{\"schema\":\"attar/1\",\"profiler\":\"p\",\"time\":0,\"interval_ns\":0,"
		"\"sections\":[{\"name\":\"s\",\"kind\":\"time-series\",\"columns\":["
		"{\"name\":\"time\",\"unit\":\"time\"},{\"name\":\"cpu 0\",\"unit\":\"hz\"},"
		"{\"name\":\"cpu 1\",\"unit\":\"hz\"}],\"rows\":["
		"[1700000000000000001,18446744073709551615,0.1],[1700000000000000002,null,null]]}],"
		"\"notes\":null}\n");
}

static void test_code_of_tree_nodes(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *s = attar_report_tree(report, "t", ATTAR_UNIT_COUNT);

	for (int i = 0; i < 3; i++)
		attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_USER,
			(const char *[]){"a", "b", "c"}[i], NULL, 1);
	attar_tree_code(s, 2, UINT64_MAX, NULL, 0);
	attar_tree_code(s, 0, 0, "00ff", 1700000000000000001);
	assert_drawn("json", plain, report,
		"{\"schema\":\"attar/1\",\"profiler\":\"p\",\"time\":0,\"interval_ns\":0,"
		"\"sections\":[{\"name\":\"t\",\"kind\":\"tree\",\"columns\":["
		"{\"name\":\"parent\",\"unit\":\"id\"},{\"name\":\"kind\",\"unit\":\"text\"},"
		"{\"name\":\"name\",\"unit\":\"text\"},{\"name\":\"module\",\"unit\":\"text\"},"
		"{\"name\":\"self\",\"unit\":\"count\"},{\"name\":\"total\",\"unit\":\"count\"},"
		"{\"name\":\"address\",\"unit\":\"hex\"},{\"name\":\"build_id\",\"unit\":\"text\"},"
		"{\"name\":\"first_time\",\"unit\":\"time\"}],\"rows\":["
		"[-1,\"user\",\"a\",null,1,1,null,\"00ff\",1700000000000000001],"
		"[-1,\"user\",\"b\",null,1,1,null,null,null],"
		"[-1,\"user\",\"c\",null,1,1,18446744073709551615,null,null]]}],"
		"\"notes\":null}\n");
}

static void test_one_line_per_report(void **state)
{
	struct attar_report *reports[] = {attar_report_new("a"), attar_report_new("b")};
	char *text = draw_all("json", plain, reports, 2);

	assert_string_equal(text,
		"{\"schema\":\"attar/1\",\"profiler\":\"a\",\"time\":0,\"interval_ns\":0,"
		"\"sections\":[],\"notes\":null}\n"
		"{\"schema\":\"attar/1\",\"profiler\":\"b\",\"time\":0,\"interval_ns\":0,"
		"\"sections\":[],\"notes\":null}\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_report),
		cmocka_unit_test(test_repeated_cells),
		cmocka_unit_test(test_numbers_without_a_json_form_are_null),
		cmocka_unit_test(test_hostile_text_and_details),
		cmocka_unit_test(test_histogram_with_summary_and_quantiles),
		cmocka_unit_test(test_time_series),
		cmocka_unit_test(test_code_of_tree_nodes),
		cmocka_unit_test(test_one_line_per_report),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
