/* SPDX-License-Identifier: MIT */
#include "drawing.h"

static const struct attar_render_opts plain = {0};

static struct attar_report *functions(uint64_t time, double self, const char *symbol)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *t = attar_report_table(report, "functions");

	attar_report_interval(report, time, 1000000000);
	attar_section_column(t, "self", ATTAR_UNIT_PERCENT);
	attar_section_column(t, "samples", ATTAR_UNIT_COUNT);
	attar_section_column(t, "symbol", ATTAR_UNIT_TEXT);
	attar_section_row(t);
	attar_cell_double(t, self);
	attar_cell_u64(t, 1234567);
	attar_cell_text(t, symbol);
	return report;
}

static void test_one_section_is_one_table_over_time(void **state)
{
	struct attar_report *reports[] = {functions(1700000000000000001, 70.5, "hot"),
		functions(1700000001000000000, 0.1, "a,\"b\"")};
	char *text = draw_all("csv", plain, reports, 2);

	assert_string_equal(text, "time,self_percent,samples,symbol\n"
				  "2023-11-14T22:13:20.000000001Z,70.5,1234567,hot\n"
				  "2023-11-14T22:13:21.000000000Z,0.1,1234567,\"a,\"\"b\"\"\"\n");
	free(text);
}

static void test_formulas_controls_and_gaps(void **state)
{
	struct attar_report *report = functions(0, 0.0 / 0.0, "=1+1\n\033");
	struct attar_section *t = attar_report_table(report, "x,\ny");

	attar_section_column(t, "@n", ATTAR_UNIT_TEXT);
	attar_section_column(t, "address", ATTAR_UNIT_HEX);
	attar_section_row(t);
	attar_section_row(t);
	attar_cell_text(t, "-1");
	attar_cell_u64(t, 0xffffffff81000000);
	assert_drawn("csv", plain, report,
		"# functions\n"
		"time,self_percent,samples,symbol\n"
		",,1234567,'=1+1\\x0a\\x1b\n"
		"\n"
		"\"# x,\\x0ay\"\n"
		"time,'@n,address\n"
		",,\n"
		",-1,0xffffffff81000000\n");
}

static void test_tree(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *s = attar_report_tree(report, "stacks", ATTAR_UNIT_NS);
	uint32_t task = attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, "a b", NULL, 0);

	attar_tree_node(s, task, ATTAR_FRAME_JIT, "f;g", "perf-1.map", UINT64_MAX);
	attar_tree_node(s, task, ATTAR_FRAME_JIT, "h", NULL, 1);
	attar_tree_task(s, task, 7, 8);
	assert_drawn("csv", plain, report,
		"time,node,parent,kind,name,module,self_ns,total_ns,pid,tid\n"
		",0,-1,task,a b,,0,18446744073709551615,7,8\n"
		",1,0,jit,f;g,perf-1.map,18446744073709551615,18446744073709551615,,\n"
		",2,0,jit,h,,1,1,,\n");
}

static void test_code_of_tree_nodes(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *s = attar_report_tree(report, "stacks", ATTAR_UNIT_COUNT);

	attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_USER, "a", NULL, 1);
	attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_USER, "b", NULL, 2);
	attar_tree_code(s, 1, 0xffffffff81000000, "00ff", 1700000000000000001);
	assert_drawn("csv", plain, report,
		"time,node,parent,kind,name,module,self,total,address,build_id,first_time\n"
		",0,-1,user,a,,1,1,,,\n"
		",1,-1,user,b,,2,2,0xffffffff81000000,00ff,2023-11-14T22:13:20.000000001Z\n");
}

static void test_histogram(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *s = attar_report_histogram(report, "latency", ATTAR_UNIT_NS);

	attar_histogram_bucket(s, 0, 0.5, 9);
	attar_histogram_bucket(s, 0.5, 1048576, UINT64_MAX);
	attar_histogram_summary(s, 9, 1, 0, 1);
	attar_histogram_quantile(s, 0.5, 0.25);
	assert_drawn("csv", plain, report,
		"time,low_ns,high_ns,count\n,0,0.5,9\n,0.5,1048576,18446744073709551615\n");
}

static void test_time_series(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *s = attar_report_time_series(report, "rates");

	attar_report_interval(report, 5, 5);
	attar_section_column(s, "=cpu,0", ATTAR_UNIT_HZ);
	attar_section_column(s, "wait", ATTAR_UNIT_NS);
	attar_time_series_point(s, 1700000000000000001);
	attar_cell_double(s, 0.1);
	attar_cell_u64(s, 250000);
	attar_time_series_point(s, 1700000001000000001);
	assert_drawn("csv", plain, report,
		"time,\"'=cpu,0_hz\",wait_ns\n"
		"2023-11-14T22:13:20.000000001Z,0.1,250000\n"
		"2023-11-14T22:13:21.000000001Z,,\n");
}

static void test_a_duration_called_time_is_not_the_time(void **state)
{
	struct attar_report *report = attar_report_new("oncpu");
	struct attar_section *t = attar_report_table(report, "cpus");

	attar_report_interval(report, 1700000000000000001, 1000000000);
	attar_section_column(t, "cpu", ATTAR_UNIT_ID);
	attar_section_column(t, "time", ATTAR_UNIT_NS);
	attar_section_row(t);
	attar_cell_u64(t, 0);
	attar_cell_u64(t, 999895000);
	assert_drawn("csv", plain, report,
		"time,cpu,time_ns\n"
		"2023-11-14T22:13:20.000000001Z,0,999895000\n");
}

static void test_event_lines_with_their_own_time(void **state)
{
	struct attar_report *report = attar_report_new("trace");
	struct attar_section *e = attar_report_events(report, "events");

	attar_report_interval(report, 1, 1);
	attar_section_column(e, "time", ATTAR_UNIT_TIME);
	attar_section_column(e, "comm", ATTAR_UNIT_TEXT);
	attar_section_row(e);
	attar_cell_u64(e, 1700000000000000000);
	attar_cell_text(e, "bash");
	attar_row_detail(e, "main");
	attar_row_detail(e, "  a;b, c");
	attar_section_row(e);
	assert_drawn("csv", plain, report,
		"time,comm,detail\n"
		"2023-11-14T22:13:20.000000000Z,bash,\"main;a:b, c\"\n"
		",,\n");
}

static void add_event(
	struct attar_section *e, uint64_t time, const char *comm, int64_t tid, double share)
{
	attar_section_row(e);
	attar_cell_u64(e, time);
	attar_cell_text(e, comm);
	if (tid >= 0)
		attar_cell_i64(e, tid);
	else
		attar_cell_none(e);
	attar_cell_double(e, share);
}

/* The text of a cell that is as the one above it is copied. */
static void test_cells_that_repeat(void **state)
{
	struct attar_report *report = attar_report_new("trace");
	struct attar_section *e = attar_report_events(report, "events");

	attar_section_column(e, "time", ATTAR_UNIT_TIME);
	attar_section_column(e, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(e, "tid", ATTAR_UNIT_ID);
	attar_section_column(e, "share", ATTAR_UNIT_COUNT);
	add_event(e, 1700000000999999999, "a,b", 5, 0.5);
	add_event(e, 1700000000999999999, "a,b", 5, 0.5);
	add_event(e, 1700000001000000000, "a,b", 55, 5);
	add_event(e, 1700000001000000001, "longer than the text that is kept, by far", -1, 0);
	add_event(e, 1700000000000000009, "longer than the text that is kept, by far", -1, 0);
	add_event(e, 1700000000000000010, "", 0, 0);
	add_event(e, 1700000000000000010, "", 5, 5);
	assert_drawn("csv", plain, report,
		"time,comm,tid,share\n"
		"2023-11-14T22:13:20.999999999Z,\"a,b\",5,0.5\n"
		"2023-11-14T22:13:20.999999999Z,\"a,b\",5,0.5\n"
		"2023-11-14T22:13:21.000000000Z,\"a,b\",55,5\n"
		"2023-11-14T22:13:21.000000001Z,\"longer than the text that is kept, by far\",,0\n"
		"2023-11-14T22:13:20.000000009Z,\"longer than the text that is kept, by far\",,0\n"
		"2023-11-14T22:13:20.000000010Z,,0,0\n"
		"2023-11-14T22:13:20.000000010Z,,5,5\n");
}

static void test_empty_report(void **state)
{
	assert_drawn("csv", plain, attar_report_new("profile"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_section_is_one_table_over_time),
		cmocka_unit_test(test_formulas_controls_and_gaps),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_code_of_tree_nodes),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_time_series),
		cmocka_unit_test(test_a_duration_called_time_is_not_the_time),
		cmocka_unit_test(test_event_lines_with_their_own_time),
		cmocka_unit_test(test_cells_that_repeat),
		cmocka_unit_test(test_empty_report),
	};

	setenv("TZ", "Asia/Kolkata", 1); /* times are UTC regardless */
	return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
