/* SPDX-License-Identifier: MIT */
#include "attar/private/report.h"
#include "drawing.h"

static const struct attar_render_opts plain = {0};

static void functions(struct attar_report *report)
{
	struct attar_section *t = attar_report_table(report, "functions");

	attar_section_column(t, "self", ATTAR_UNIT_PERCENT);
	attar_section_column(t, "total", ATTAR_UNIT_PERCENT);
	attar_section_column(t, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(t, "dso", ATTAR_UNIT_TEXT);
	attar_section_column(t, "symbol", ATTAR_UNIT_TEXT);
	attar_section_row(t);
	attar_cell_double(t, 70.125);
	attar_cell_double(t, 100);
	attar_cell_text(t, "split");
	attar_cell_text(t, "split");
	attar_cell_text(t, "hot_function_with_a_name");
	attar_section_row(t);
	attar_cell_double(t, 0.4);
	attar_cell_none(t);
	attar_cell_text(t, "split");
	attar_cell_text(t, "[kernel]");
	attar_cell_text(t, "cold");
}

static void test_table_with_head_and_foot(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_notes notes = {12345, 0, 0, 0.012, 0.008, 10276044};

	functions(report);
	attar_report_interval(report, 1700000000000000000, 5000000000);
	attar_report_remark(report, "cycles are not available: %s was sampled", "cpu-clock");
	attar_report_notes(report, &notes);
	assert_drawn("text", plain, report,
		"profile, 5.00 s, 2023-11-14 22:13:20\n"
		"\n"
		"functions\n"
		"  self    total  comm   dso       symbol\n"
		"70.12%  100.00%  split  split     hot_function_with_a_name\n"
		" 0.40%        -  split  [kernel]  cold\n"
		"\n"
		"note: cycles are not available: cpu-clock was sampled\n"
		"12,345 samples seen, 0 lost, 0 throttled; 1.2% of samples in code without a name; "
		"attar itself: 0.8% of a CPU, 9.80 MiB peak\n");
}

/* Names of 52 and 3 columns: the numbers behind them are below each other. */
static void test_long_names_keep_columns_aligned(void **state)
{
	struct attar_report *report = attar_report_new("list");
	struct attar_section *t = attar_report_table(report, "USDT");

	attar_section_column(t, "name", ATTAR_UNIT_TEXT);
	attar_section_column(t, "locations", ATTAR_UNIT_COUNT);
	attar_section_column(t, "semaphore", ATTAR_UNIT_TEXT);
	attar_section_row(t);
	attar_cell_text(t, "usdt:/a/long/path/to/a/file:provider:name_of_a_probe");
	attar_cell_u64(t, 12);
	attar_cell_text(t, "yes");
	attar_section_row(t);
	attar_cell_text(t, "a:b");
	attar_cell_u64(t, 1);
	attar_cell_text(t, "no");
	assert_drawn("text", plain, report,
		"USDT\n"
		"name                                                  locations  semaphore\n"
		"usdt:/a/long/path/to/a/file:provider:name_of_a_probe         12  yes\n"
		"a:b                                                           1  no\n");
}

static void test_lines_missed_by_a_slow_reader(void **state)
{
	struct attar_report *report = attar_report_new("trace");
	struct attar_notes notes = {200000, 0, 0, -1, 0.008, 10276044, false, 152400, 1};

	attar_report_notes(report, &notes);
	assert_drawn("text", plain, report,
		"200,000 samples seen, 0 lost, 0 throttled; 152,400 lines not printed because the "
		"reader was too slow; 1 report not printed because the reader was too slow; "
		"attar itself: 0.8% of a CPU, 9.80 MiB peak\n");
}

static void test_table_is_cut_to_the_terminal(void **state)
{
	struct attar_report *report = attar_report_new("profile");

	functions(report);
	assert_drawn("text", (struct attar_render_opts){.columns = 50}, report,
		"functions\n"
		"  self    total  comm   dso       symbol\n"
		"70.12%  100.00%  split  split     hot_function_wi…\n"
		" 0.40%        -  split  [kernel]  cold\n");
}

/* The share of a name is not the number of the row, and a total says more than its count. */
static void test_20_columns_keep_the_total(void **state)
{
	struct attar_report *report = attar_report_new("locks");
	struct attar_section *t = attar_report_table(report, "locks");

	attar_section_column(t, "type", ATTAR_UNIT_TEXT);
	attar_section_column(t, "holder", ATTAR_UNIT_ID);
	attar_section_column(t, "holder share", ATTAR_UNIT_PERCENT);
	attar_section_column(t, "count", ATTAR_UNIT_COUNT);
	attar_section_column(t, "total", ATTAR_UNIT_NS);
	attar_section_row(t);
	attar_cell_text(t, "futex");
	attar_cell_i64(t, 1234);
	attar_cell_double(t, 99.5);
	attar_cell_u64(t, 5);
	attar_cell_u64(t, 97000000);
	assert_drawn("text", (struct attar_render_opts){.columns = 20}, report,
		"locks\n"
		"type     total\n"
		"futex  97.0 ms\n"
		"(3 columns hidden)\n");
}

/* A size is a part of what the row is about. */
static void test_20_columns_keep_the_number_of_a_size(void **state)
{
	struct attar_report *report = attar_report_new("blktrace");
	struct attar_section *t = attar_report_table(report, "requests");

	attar_section_column(t, "device", ATTAR_UNIT_TEXT);
	attar_section_column(t, "type", ATTAR_UNIT_TEXT);
	attar_section_column(t, "size", ATTAR_UNIT_BYTES);
	attar_section_column(t, "reqs", ATTAR_UNIT_COUNT);
	attar_section_column(t, "total", ATTAR_UNIT_NS);
	attar_section_row(t);
	attar_cell_text(t, "loop0");
	attar_cell_text(t, "WS");
	attar_cell_u64(t, 4096);
	attar_cell_u64(t, 80);
	attar_cell_u64(t, 58200000);
	assert_drawn("text", (struct attar_render_opts){.columns = 20}, report,
		"requests\n"
		"device  type  reqs\n"
		"loop0   WS      80\n"
		"(2 columns hidden)\n");
}

static void test_20_columns_keep_number_and_name(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_notes notes = {5, 1, 0, -1, 0.5, 1 << 20};

	functions(report);
	attar_report_notes(report, &notes);
	assert_drawn("text", (struct attar_render_opts){.columns = 20}, report,
		"functions\n"
		"  self  symbol\n"
		"70.12%  hot_functio…\n"
		" 0.40%  cold\n"
		"(3 columns hidden)\n"
		"\n"
		"5 samples seen, 1\n"
		"lost (16.67%), 0\n"
		"throttled; attar\n"
		"itself: 50.0% of a\n"
		"CPU, 1.00 MiB peak\n");
}

/* The names of columns keep the unit; the number as a text is whole, its limit is hidden. */
static void test_20_columns_keep_values(void **state)
{
	struct attar_report *report = attar_report_new("overview");
	struct attar_section *t = attar_report_table(report, "findings");

	attar_section_column(t, "finding", ATTAR_UNIT_TEXT);
	attar_section_column(t, "value", ATTAR_UNIT_TEXT);
	attar_section_column(t, "limit", ATTAR_UNIT_TEXT);
	attar_section_row(t);
	attar_cell_text(t, "failing system calls");
	attar_cell_text(t, "71702/s");
	attar_cell_text(t, "1000/s");
	t = attar_report_table(report, "system calls");
	attar_section_column(t, "syscall", ATTAR_UNIT_TEXT);
	attar_section_column(t, "on CPU", ATTAR_UNIT_NS);
	attar_section_column(t, "mostly", ATTAR_UNIT_TEXT);
	for (int i = 1; i < 3; i++) {
		attar_section_row(t);
		attar_cell_text(t, "clock_nanosleep");
		attar_cell_u64(t, (uint64_t)i * 10101010);
		attar_cell_text(t, "sleep");
	}
	t = attar_report_table(report, "top");
	attar_section_column(t, "tid", ATTAR_UNIT_ID);
	attar_section_column(t, "syscalls:sys_enter_getppid", ATTAR_UNIT_COUNT);
	attar_section_row(t);
	attar_cell_u64(t, 4000123);
	attar_cell_u64(t, 5666123);
	assert_drawn("text", (struct attar_render_opts){.columns = 20}, report,
		"findings\n"
		"finding      value\n"
		"failing sy…  71702/s\n"
		"(1 column hidden)\n"
		"\n"
		"system calls\n"
		"syscall     on… (ms)\n"
		"clock_nan…     10.10\n"
		"clock_nan…     20.20\n"
		"(1 column hidden)\n"
		"\n"
		"top\n"
		"    tid  …er_getppid\n"
		"4000123    5,666,123\n");
}

static void test_no_line_is_wider_than_the_terminal(void **state)
{
	for (unsigned columns = 1; columns < 60; columns++) {
		struct attar_report *report = attar_report_new("profile");
		char *text, *line, *rest;

		functions(report);
		attar_report_remark(report, "averyveryveryverylongwordthatfitsnowhereatall");
		text = draw_one("text", (struct attar_render_opts){.columns = columns}, report);
		for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
			unsigned width = 0;

			for (const char *p = line; *p; p++)
				width += (*p & 0xc0) != 0x80;
			assert_in_range(width, 1, columns);
		}
		free(text);
	}
}

static void test_units(void **state)
{
	struct attar_report *report = attar_report_new("units");
	struct attar_section *t = attar_report_table(report, "");

	attar_section_column(t, "count", ATTAR_UNIT_COUNT);
	attar_section_column(t, "wait", ATTAR_UNIT_NS);
	attar_section_column(t, "when", ATTAR_UNIT_TIME);
	attar_section_column(t, "size", ATTAR_UNIT_BYTES);
	attar_section_column(t, "address", ATTAR_UNIT_HEX);
	attar_section_column(t, "rate", ATTAR_UNIT_HZ);
	attar_section_column(t, "pid", ATTAR_UNIT_ID);
	attar_section_row(t);
	attar_cell_u64(t, UINT64_MAX);
	attar_cell_u64(t, 1234);
	attar_cell_u64(t, 1700000000123456789);
	attar_cell_u64(t, 1023);
	attar_cell_u64(t, 0xffffffff81000000);
	attar_cell_u64(t, 997);
	attar_cell_u64(t, 12345);
	attar_section_row(t);
	attar_cell_i64(t, -1234567);
	attar_cell_i64(t, -250);
	attar_cell_none(t);
	attar_cell_double(t, 1024.0 * 1024 * 1024);
	attar_cell_none(t);
	attar_cell_double(t, 2.4e9);
	attar_cell_i64(t, -1);
	attar_section_row(t);
	attar_cell_double(t, 0.0 / 0.0);
	attar_cell_u64(t, 12345678901234);
	assert_drawn("text", plain, report,
		"                     count  wait (s)             when      size"
		"             address      rate    pid\n"
		"18,446,744,073,709,551,615   1.23 us  22:13:20.123456   1,023 B"
		"  0xffffffff81000000    997 Hz  12345\n"
		"                -1,234,567   -250 ns                -  1.00 GiB"
		"                   -  2.40 GHz     -1\n"
		"                         -    12,346                -         -"
		"                   -         -      -\n");
}

/* Of small numbers, two decimals would show nothing. */
static void test_small_and_large_numbers(void **state)
{
	static const double numbers[] = {
		1.0 / 3, 0.01, 0.00999, 0.00123456, -2e-9, 0, 12345.678, 1e20, -1e21, 1e300};
	struct attar_report *report = attar_report_new("numbers");
	struct attar_section *t = attar_report_table(report, "");

	attar_section_column(t, "count", ATTAR_UNIT_COUNT);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		attar_section_row(t);
		attar_cell_double(t, numbers[i]);
	}
	assert_drawn("text", plain, report,
		"                      count\n"
		"                       0.33\n"
		"                       0.01\n"
		"                    0.00999\n"
		"                    0.00123\n"
		"                     -2e-09\n"
		"                          0\n"
		"                  12,345.68\n"
		"100,000,000,000,000,000,000\n"
		"                     -1e+21\n"
		"                     1e+300\n");
}

static void test_hostile_names_are_harmless(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *t = attar_report_table(report, "bad\nname");
	struct attar_section *tree = attar_report_tree(report, "stacks", ATTAR_UNIT_COUNT);
	uint32_t root;

	attar_section_column(t, "a\tb", ATTAR_UNIT_TEXT);
	attar_section_column(t, "n", ATTAR_UNIT_COUNT);
	attar_section_row(t);
	attar_cell_text(t, "\033]0;PWN\007\xff\xc3\xa4");
	attar_cell_u64(t, 1);
	root = attar_tree_node(tree, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, "\033[2J", NULL, 0);
	attar_tree_node(tree, root, ATTAR_FRAME_USER, "a\nb", "\r", 3);
	attar_report_remark(report, "%s", "\b\x9b");
	assert_drawn("text", plain, report,
		"bad\\x0aname\n"
		"a\\x09b               n\n"
		"\\x1b]0;PWN\\x07\\xffä  1\n"
		"\n"
		"stacks, 3 in all\n"
		"100.00%  \\x1b[2J\n"
		"         a\\x0ab (\\x0d)\n"
		"\n"
		"note: \\x08\\x9b\n");
}

/* The tree of the header's drawing: 1000 samples, a chain, a fork, a fork in the fork, and small
 * ones. */
static struct attar_section *stacks(struct attar_report *report)
{
	struct attar_section *s = attar_report_tree(report, "stacks", ATTAR_UNIT_COUNT);
	uint32_t task =
		attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, "split 1234", NULL, 0);
	uint32_t main = attar_tree_node(s, task, ATTAR_FRAME_USER, "main", "split", 0);
	uint32_t cold = attar_tree_node(s, main, ATTAR_FRAME_USER, "cold", "split", 200);
	uint32_t hot = attar_tree_node(s, main, ATTAR_FRAME_USER, "hot", "split", 0);
	uint32_t spin = attar_tree_node(s, hot, ATTAR_FRAME_INLINED, "spin", "split", 90);

	attar_tree_node(s, cold, ATTAR_FRAME_KERNEL, "sys_read", "[kernel]", 100);
	attar_tree_node(s, spin, ATTAR_FRAME_USER, "left", "split", 400);
	attar_tree_node(s, spin, ATTAR_FRAME_USER, "right", "split", 200);
	attar_tree_node(s, main, ATTAR_FRAME_USER, "tiny1", "split", 4);
	attar_tree_node(s, main, ATTAR_FRAME_USER, "tiny2", "split", 4);
	attar_tree_node(s, cold, ATTAR_FRAME_USER, "tiny3", "split", 2);
	return s;
}

static void test_tree_of_the_hottest_stacks(void **state)
{
	struct attar_report *report = attar_report_new("profile");

	stacks(report);
	assert_drawn("text", plain, report,
		"stacks, 1,000 in all\n"
		"100.00%  split 1234\n"
		"         main (split)\n"
		" 69.00%  +- hot\n"
		"         |  spin (inlined), self 9.00%\n"
		" 40.00%  |  +- left\n"
		" 20.00%  |  +- right\n"
		" 30.20%  +- cold, self 20.00%\n"
		" 10.00%  |  sys_read ([kernel])\n"
		"  0.80%  +- (2 more below 0.50%)\n");
}

static void test_tree_is_limited_by_share_and_rows(void **state)
{
	struct attar_report *report = attar_report_new("profile");

	tree_cutoff(stacks(report), 0.25);
	assert_drawn("text", plain, report,
		"stacks, 1,000 in all\n"
		"100.00%  split 1234\n"
		"         main (split)\n"
		" 69.00%  +- hot\n"
		"         |  spin (inlined)\n"
		" 40.00%  |  left\n"
		" 30.20%  +- cold\n");
	report = attar_report_new("profile");
	stacks(report);
	assert_drawn("text", (struct attar_render_opts){.max_rows = 4}, report,
		"stacks, 1,000 in all\n"
		"100.00%  split 1234\n"
		"         main (split)\n"
		" 69.00%  +- hot\n"
		"         |  spin (inlined), self 9.00%\n"
		" 60.00%  |  (2 more below 69.00%)\n"
		" 31.00%  +- (3 more below 69.00%)\n");
}

static void test_tree_on_20_columns(void **state)
{
	struct attar_report *report = attar_report_new("profile");

	stacks(report);
	assert_drawn("text", (struct attar_render_opts){.columns = 20}, report,
		"stacks, 1,000 in all\n"
		"100.00%  split 1234\n"
		"         main (spli…\n"
		" 69.00%  +- hot\n"
		"         |  spin (i…\n"
		" 40.00%  |  +- left\n"
		" 20.00%  |  +- right\n"
		" 30.20%  +- cold, s…\n"
		" 10.00%  |  sys_read\n"
		"  0.80%  +- (2 more…\n");
}

/* The start of a path is cut; in a tree, all but its file name. */
static void test_paths_keep_their_ends(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *t = attar_report_table(report, "");
	struct attar_section *s = attar_report_tree(report, "stacks", ATTAR_UNIT_COUNT);

	attar_section_column(t, "dso", ATTAR_UNIT_TEXT);
	attar_section_column(t, "symbol", ATTAR_UNIT_TEXT);
	attar_section_row(t);
	attar_cell_text(t, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	attar_cell_text(t, "a_function_of_thirty_letters_xx");
	attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_USER, "main", "/usr/lib/libc.so.6", 3);
	assert_drawn("text", (struct attar_render_opts){.columns = 34}, report,
		"dso           symbol\n"
		"…u/libc.so.6  a_function_of_thirt…\n"
		"\n"
		"stacks, 3 in all\n"
		"100.00%  main (libc.so.6)\n");
}

/* A million frames deep, each with its own weight: no recursion, no growing indent. */
static void test_tree_of_a_million_frames(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *s = attar_report_tree(report, "stacks", ATTAR_UNIT_COUNT);
	uint32_t node = ATTAR_TREE_ROOT;
	char *text;

	for (int i = 0; i < 1000000; i++)
		node = attar_tree_node(s, node, ATTAR_FRAME_USER, "f", "recursion", 1);
	text = draw_one("text", (struct attar_render_opts){.columns = 80, .max_rows = 3}, report);
	assert_string_equal(text, "stacks, 1,000,000 in all\n"
				  "100.00%  f (recursion)\n"
				  "100.00%  f\n"
				  "100.00%  f\n"
				  "100.00%  (1 more below 100.00%)\n");
	free(text);
}

/* Rows with a line of details each: two of three fit in five lines; the first one always does. */
static void test_limited_table(void **state)
{
	static const char *const names[] = {"one", "two", "three"};
	static const struct {
		size_t lines;
		const char *text;
	} cases[] = {
		{1, "finding\none\n        detail\n(2 more rows: --all shows all)\n"},
		{5, "finding\none\n        detail\ntwo\n        detail\n(1 more row: --all shows "
		    "all)\n"},
		{6, "finding\none\n        detail\ntwo\n        detail\nthree\n        detail\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct attar_report *report = attar_report_new("overview");
		struct attar_section *t = attar_report_table(report, "");

		attar_section_column(t, "finding", ATTAR_UNIT_TEXT);
		section_limit(t, cases[i].lines, "--all shows all");
		for (size_t row = 0; row < 3; row++) {
			attar_section_row(t);
			attar_cell_text(t, names[row]);
			attar_row_detail(t, "detail");
		}
		assert_drawn("text", plain, report, cases[i].text);
	}
}

static void test_empty_report(void **state)
{
	struct attar_report *report = attar_report_new("profile");

	assert_drawn("text", plain, report, "");
	report = attar_report_new("profile");
	attar_section_column(attar_report_table(report, "functions"), "self", ATTAR_UNIT_PERCENT);
	attar_report_tree(report, "stacks", ATTAR_UNIT_NS);
	attar_report_histogram(report, "latency", ATTAR_UNIT_NS);
	assert_drawn("text", plain, report,
		"functions\n(nothing)\n\nstacks, 0 ns in all\n(nothing)\n\nlatency\n(nothing)\n");
}

static struct attar_report *many_pids(void)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *t = attar_report_table(report, "pids");

	attar_section_column(t, "pid", ATTAR_UNIT_ID);
	for (int i = 0; i < 1005; i++) {
		attar_section_row(t);
		attar_cell_u64(t, (uint64_t)i * 1000);
	}
	return report;
}

static void test_max_rows_of_a_table(void **state)
{
	assert_drawn("text", (struct attar_render_opts){.max_rows = 2}, many_pids(),
		"pids\n pid\n   0\n1000\n(1,003 more rows)\n");
	assert_drawn("text",
		(struct attar_render_opts){.max_rows = 2, .rows_hint = "more shows all"},
		many_pids(), "pids\n pid\n   0\n1000\n(1,003 more rows: more shows all)\n");
}

/* Shares of 1009 rows: 12 rows of 1 %, then small ones. */
static struct attar_report *shares(const char *column)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *t = attar_report_table(report, "rows");

	attar_section_column(t, column, ATTAR_UNIT_PERCENT);
	for (int i = 0; i < 1009; i++) {
		attar_section_row(t);
		attar_cell_double(t, i < 12 ? 0.5 : 0.4);
	}
	return report;
}

static void test_rows_that_are_small(void **state)
{
#define TEN "0.50%\n0.50%\n0.50%\n0.50%\n0.50%\n0.50%\n0.50%\n0.50%\n0.50%\n0.50%\n"
	(void)state;
	assert_drawn("text", (struct attar_render_opts){.max_rows = 20}, shares("share"),
		"rows\nshare\n" TEN "0.50%\n0.50%\n(997 more rows)\n");
	assert_drawn("text", (struct attar_render_opts){.max_rows = 13}, shares("count"),
		"rows\ncount\n" TEN "0.50%\n0.50%\n0.40%\n(996 more rows)\n");
}

static void test_most_remarks(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	const struct attar_render_opts opts = {.size = sizeof(opts)};
	struct attar_renderer *renderer;

	(void)state;
	report_detail(report, "a detail");
	attar_report_remark(report, "one");
	attar_report_remark(report, "two");
	report_detail(report, "another detail");
	attar_report_remark(report, "three");
	report_remark_first(report, "first");
	report_doubt(report, "in doubt");
	assert_string_equal(attar_report_get_remark(report, 5), "a detail");
	assert_string_equal(attar_report_get_remark(report, 6), "another detail");
	assert_int_equal(attar_renderer_new("text", file, &opts, &renderer), 0);
	renderer_limit_remarks(renderer, 2);
	assert_int_equal(attar_renderer_draw(renderer, report), 0);
	renderer_limit_remarks(renderer, 0);
	assert_int_equal(attar_renderer_draw(renderer, report), 0);
	attar_renderer_free(renderer);
	fclose(file);
	assert_string_equal(text,
		"in doubt\n\nnote: first\nnote: one\n(4 more remarks: -v shows all)\n"
		"\nin doubt\n\nnote: first\nnote: one\nnote: two\nnote: three\nnote: a detail\n"
		"note: another detail\n");
	free(text);
	attar_report_free(report);
}

static struct attar_report *events(const char *comm, const char *line)
{
	struct attar_report *report = attar_report_new("trace");
	struct attar_section *e = attar_report_events(report, "events");

	attar_section_column(e, "time", ATTAR_UNIT_TIME);
	attar_section_column(e, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(e, "cpu", ATTAR_UNIT_ID);
	attar_section_row(e);
	attar_cell_u64(e, 1700000000000000000);
	attar_cell_text(e, comm);
	attar_cell_u64(e, 3);
	if (line)
		attar_row_detail(e, line);
	return report;
}

/* A wider name shifts what follows in its own line at most, here nothing: cpu has room. */
static void test_event_lines_keep_their_columns(void **state)
{
	for (unsigned columns = 0; columns <= 60; columns += 60) {
		const struct attar_render_opts opts = {.columns = columns};
		struct attar_report *reports[] = {events("bash", "main+0x17 (bash)"),
			events("kworker/u16:3-ext4", NULL), events("a", NULL)};
		char *text = draw_all("text", opts, reports, 3);

		assert_string_equal(text, columns ? "           time  comm               cpu\n"
						    "22:13:20.000000  bash                 3\n"
						    "        main+0x17 (bash)\n"
						    "22:13:20.000000  kworker/u16:3-ext4      3\n"
						    "22:13:20.000000  a                    3\n"
						  : "           time  comm               cpu\n"
						    "22:13:20.000000  bash                 3\n"
						    "        main+0x17 (bash)\n"
						    "22:13:20.000000  kworker/u16:3-ext4   3\n"
						    "22:13:20.000000  a                    3\n");
		free(text);
	}
}

static struct attar_report *opened(uint64_t tid, const char *path)
{
	struct attar_report *report = attar_report_new("opensnoop");
	struct attar_section *e = attar_report_events(report, "events");

	attar_section_column(e, "time", ATTAR_UNIT_TIME);
	attar_section_column(e, "tid", ATTAR_UNIT_ID);
	attar_section_column(e, "PATH", ATTAR_UNIT_TEXT);
	attar_section_main(e);
	attar_section_column(e, "ERR", ATTAR_UNIT_TEXT);
	attar_section_row(e);
	attar_cell_u64(e, 1700000000000000000);
	attar_cell_u64(e, tid);
	attar_cell_text(e, path);
	attar_cell_text(e, "0");
	return report;
}

/* They are named before the heading, and the columns of later lines are the same. */
static void test_event_lines_keep_their_main_column(void **state)
{
	struct attar_report *narrow[] = {opened(12, "/etc/hosts"), opened(7, "/a"),
		opened(1234567, "/usr/lib/x86_64-linux-gnu/libc.so.6")};
	struct attar_report *wider[] = {opened(12, "/a"), opened(12, "/usr/lib/gcc/x/y")};
	char *text = draw_all("text", (struct attar_render_opts){.columns = 20}, narrow, 3);

	assert_string_equal(text, "(3 columns hidden:\n"
				  "time, tid, ERR)\n"
				  "PATH\n"
				  "/etc/hosts\n"
				  "/a\n"
				  "…linux-gnu/libc.so.6\n");
	free(text);
	text = draw_all("text", (struct attar_render_opts){.columns = 28}, wider, 2);
	assert_string_equal(text, "(1 column hidden: tid)\n"
				  "           time  PATH  ERR\n"
				  "22:13:20.000000  /a    0\n"
				  "22:13:20.000000  …c/x/y  0\n");
	free(text);
}

static void add_durations(struct attar_report *report, const uint64_t (*rows)[2], size_t n)
{
	struct attar_section *t = attar_report_table(report, "");

	attar_section_column(t, "mean", ATTAR_UNIT_NS);
	attar_section_column(t, "max", ATTAR_UNIT_NS);
	for (size_t i = 0; i < n; i++) {
		attar_section_row(t);
		attar_cell_double(t, (double)rows[i][0] + (rows[i][0] == 1500 ? 0.5 : 0));
		if (rows[i][1] != UINT64_MAX)
			attar_cell_u64(t, rows[i][1]);
	}
}

struct durations {
	uint64_t rows[2][2];
	const char *drawn;
};

static void assert_durations(struct attar_render_opts opts, const struct durations *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct attar_report *report = attar_report_new("p");

		add_durations(report, cases[i].rows, 2);
		assert_drawn("text", opts, report, cases[i].drawn);
	}
}

/*
 * Each column has the unit of its largest value, with four digits; a value of which fewer than two
 * digits would be seen has its own unit.
 */
static void test_durations_have_a_unit_by_column(void **state)
{
	static const struct durations cases[] = {
		{{{5, 17}, {120, 999}}, "mean (ns)  max (ns)\n        5        17\n"
					"      120       999\n"},
		{{{1500, 812}, {2301, 5301123456}}, "mean (us)  max (s)\n    1.500   812 ns\n"
						    "    2.301    5.301\n"},
		{{{1500, 10000000}, {2301, 53011234567}}, "mean (us)  max (s)\n    1.500  10.0 ms\n"
							  "    2.301    53.01\n"},
		{{{100000, 99000000}, {530112, 530112345}},
			"mean (us)  max (ms)\n    100.0      99.0\n"
			"    530.1     530.1\n"},
		{{{0, 99999}, {999999, UINT64_MAX}}, "mean (us)  max (us)\n      0.0    100.00\n"
						     "  1,000.0         -\n"},
		{{{20000000000, 30000000000}, {60000000000, 86400000000000}},
			"mean (s)  max (s)\n   20.00       30\n"
			"   60.00   86,400\n"},
		{{{0, 0}, {0, 0}}, "mean (ns)  max (ns)\n        0         0\n"
				   "        0         0\n"},
	};

	assert_durations(plain, cases, sizeof(cases) / sizeof(cases[0]));
}

/* Exactly, all durations of a table have one unit; microseconds show each nanosecond. */
static void test_exact_durations_have_one_unit(void **state)
{
	static const struct durations cases[] = {
		{{{5, 17}, {120, 999}}, "mean (ns)  max (ns)\n        5        17\n"
					"      120       999\n"},
		{{{1, 1500}, {2, 3}}, "mean (us)  max (us)\n    0.001     1.500\n"
				      "    0.002     0.003\n"},
		{{{1500, 812}, {2301, 5301123456}},
			"mean (us)       max (us)\n    1.500          0.812\n"
			"    2.301  5,301,123.456\n"},
		{{{0, 250}, {2301, UINT64_MAX}}, "mean (us)  max (us)\n    0.000     0.250\n"
						 "    2.301         -\n"},
		{{{20000000, 30000000}, {20500500, 5000000000}},
			"mean (ms)   max (ms)\n   20.000     30.000\n"
			"   20.500  5,000.000\n"},
		{{{20000000000, 30000000000}, {60000000000, 86400000000000}},
			"mean (s)     max (s)\n  20.000      30.000\n"
			"  60.000  86,400.000\n"},
		{{{100, 86400000000000}, {0, 0}}, "mean (ms)        max (ms)\n"
						  "   <0.001  86,400,000.000\n"
						  "    0.000           0.000\n"},
		{{{0, 0}, {0, 0}}, "mean   max\n0 ns  0 ns\n0 ns  0 ns\n"},
	};

	assert_durations(
		(struct attar_render_opts){.exact = true}, cases, sizeof(cases) / sizeof(cases[0]));
}

/* A single row, and lines of events, have nothing to compare with. */
static void test_single_duration_has_its_own_unit(void **state)
{
	static const uint64_t row[1][2] = {{1500, 5301123456}};
	struct attar_report *report = attar_report_new("p");
	struct attar_section *e;

	add_durations(report, row, 1);
	assert_drawn("text", plain, report, "   mean     max\n1.50 us  5.30 s\n");
	report = attar_report_new("p");
	e = attar_report_events(report, "");
	attar_section_column(e, "wait", ATTAR_UNIT_NS);
	for (uint64_t i = 0; i < 2; i++) {
		attar_section_row(e);
		attar_cell_u64(e, i ? 1500 : 5301123456);
	}
	assert_drawn("text", plain, report, "   wait\n 5.30 s\n1.50 us\n");
}

static struct attar_report *latency(void)
{
	struct attar_report *report = attar_report_new("latency");
	struct attar_section *h = attar_report_histogram(report, "latency", ATTAR_UNIT_NS);

	attar_histogram_bucket(h, 500, 1000, 1);
	attar_histogram_bucket(h, 1000, 2000, 2000);
	attar_histogram_bucket(h, 2000, 4000, 0);
	attar_histogram_bucket(h, 4000, 8000, 1000);
	return report;
}

/* 40 columns leave 15 for the bars: 2,000 is 120 eighths, 1,000 is 60, and 1 is not nothing. */
static void test_histogram(void **state)
{
	assert_drawn("text", (struct attar_render_opts){.columns = 40}, latency(),
		"latency\n"
		"    low     high  count\n"
		" 500 ns  1.00 us      1  ▏\n"
		"1.00 us  2.00 us  2,000  ███████████████\n"
		"2.00 us  4.00 us      0\n"
		"4.00 us  8.00 us  1,000  ███████▌\n");
}

static void test_histogram_keeps_counts(void **state)
{
	assert_drawn("text", (struct attar_render_opts){.columns = 20}, latency(),
		"latency\n"
		"    low  count\n"
		" 500 ns      1  ▏\n"
		"1.00 us  2,000  ████\n"
		"2.00 us      0\n"
		"4.00 us  1,000  ██\n");
}

static void test_histogram_in_ascii(void **state)
{
	assert_drawn("text", (struct attar_render_opts){.columns = 40, .ascii = true}, latency(),
		"latency\n"
		"    low     high  count\n"
		" 500 ns  1.00 us      1  #\n"
		"1.00 us  2.00 us  2,000  ###############\n"
		"2.00 us  4.00 us      0\n"
		"4.00 us  8.00 us  1,000  ########\n");
}

/* The longest bar ends at the last column of any terminal; every eighth of a column is drawn. */
static void test_bars_fit_the_terminal(void **state)
{
	static const char *const parts[] = {"█", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

	for (unsigned columns = 24; columns < 300; columns += 23) {
		struct attar_report *report = attar_report_new("p");
		struct attar_section *h = attar_report_histogram(report, "", ATTAR_UNIT_COUNT);
		unsigned room = columns - 18; /* "low  high  count  " */
		char *text, *line, *rest;
		uint64_t n = room * 8;

		attar_histogram_bucket(h, 0, 1, n);
		for (uint64_t i = 1; i < 9; i++)
			attar_histogram_bucket(h, 1, 2, n - i);
		text = draw_one("text", (struct attar_render_opts){.columns = columns}, report);
		strtok_r(text, "\n", &rest);
		for (int i = 0; i < 9; i++) {
			unsigned width = 0;

			line = strtok_r(NULL, "\n", &rest);
			for (const char *p = line; *p; p++)
				width += (*p & 0xc0) != 0x80;
			assert_int_equal(strcmp(line + strlen(line) - 3, parts[(8 - i) % 8]), 0);
			assert_int_equal(width, columns - (i == 8));
		}
		free(text);
	}
}

static void test_histogram_with_summary(void **state)
{
	struct attar_report *report = latency();
	struct attar_section *h = attar_report_histogram(report, "none", ATTAR_UNIT_BYTES);

	attar_histogram_summary(h, 0, 0, 0, 0);
	h = attar_report_histogram(report, "one", ATTAR_UNIT_BYTES);
	attar_histogram_bucket(h, 1024, 2048, 1);
	attar_histogram_summary(h, 1, 1536, 1536, 1536);
	attar_histogram_quantile(h, 0.5, 1536);
	attar_histogram_quantile(h, 0.999, 1536);
	assert_drawn("text", (struct attar_render_opts){.columns = 40}, report,
		"latency\n"
		"    low     high  count\n"
		" 500 ns  1.00 us      1  ▏\n"
		"1.00 us  2.00 us  2,000  ███████████████\n"
		"2.00 us  4.00 us      0\n"
		"4.00 us  8.00 us  1,000  ███████▌\n"
		"\n"
		"none\n"
		"0 values\n"
		"\n"
		"one\n"
		"1 value, min 1.50 KiB, mean 1.50 KiB,\n"
		"p50 1.50 KiB, p99.9 1.50 KiB, max 1.50\n"
		"KiB\n"
		"     low      high  count\n"
		"1.00 KiB  2.00 KiB      1  █████████████\n");
}

/* 10 buckets in 4 lines: three are joined in each, and the last has one. No count is lost. */
static void test_buckets_are_joined(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *h = attar_report_histogram(report, "", ATTAR_UNIT_COUNT);

	for (int i = 0; i < 10; i++)
		attar_histogram_bucket(h, i, i + 1, i == 9 ? UINT64_MAX : i == 5 ? 7 : 0);
	assert_drawn("text", (struct attar_render_opts){.columns = 40, .max_rows = 4}, report,
		"low  high                       count\n"
		"  0     3                           0\n"
		"  3     6                           7  ▏\n"
		"  6     9                           0\n"
		"  9    10  18,446,744,073,709,551,615  █\n");
}

static void test_time_series_shows_its_newest_points(void **state)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *s = attar_report_time_series(report, "waits");

	attar_section_column(s, "cpu 0", ATTAR_UNIT_NS);
	for (uint64_t i = 0; i < 1003; i++) {
		attar_time_series_point(s, (1700000000 + i) * 1000000000);
		attar_cell_u64(s, i * 1000 + 1);
		attar_row_detail(s, i % 2 ? "odd" : "even");
	}
	assert_drawn("text", (struct attar_render_opts){.max_rows = 2}, report,
		"waits\n"
		"(1,001 earlier points)\n"
		"           time  cpu 0 (ms)\n"
		"22:30:01.000000       1.001\n"
		"        odd\n"
		"22:30:02.000000       1.002\n"
		"        even\n");
}

static struct attar_report *pids(uint64_t first, int n)
{
	struct attar_report *report = attar_report_new("top");
	struct attar_section *t = attar_report_table(report, "");

	attar_section_column(t, "pid", ATTAR_UNIT_ID);
	for (int i = 0; i < n; i++) {
		attar_section_row(t);
		attar_cell_u64(t, first + (uint64_t)i);
	}
	attar_report_remark(report, "x");
	return report;
}

/* Reports replace each other: no empty line between them, rests of longer lines are erased. */
static void test_redraw(void **state)
{
	struct attar_report *reports[] = {pids(10, 2), pids(20, 1)};
	char *text = draw_all("text", (struct attar_render_opts){.redraw = true}, reports, 2);

	assert_string_equal(text,
		"\033[Hpid\033[K\n 10\033[K\n 11\033[K\n\033[K\nnote: x\033[K\n\033[J"
		"\033[Hpid\033[K\n 20\033[K\n\033[K\nnote: x\033[K\n\033[J");
	free(text);
}

/* Fewer lines than the terminal has, whatever the report is; rows are left out before the notes. */
static void test_redraw_fits_the_screen(void **state)
{
	for (unsigned lines = 2; lines < 40; lines++) {
		struct attar_render_opts opts = {.redraw = true, .lines = lines};
		char *text = draw_one("text", opts, pids(10000, 50000));
		unsigned n = 0;

		for (const char *p = text; (p = strchr(p, '\n')); p++)
			n++;
		assert_in_range(n, 1, lines - 1);
		assert_int_equal(strstr(text, "note: x") != NULL, lines >= 8);
		free(text);
	}
}

static void test_resize(void **state)
{
	struct attar_render_opts opts = {.size = sizeof(opts), .redraw = true, .lines = 30};
	struct attar_report *report = pids(10, 20);
	struct attar_renderer *renderer = NULL;
	size_t size = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(attar_renderer_new("text", f, &opts, &renderer), 0);
	renderer_resize(renderer, 3, 3);
	assert_int_equal(attar_renderer_draw(renderer, report), 0);
	attar_renderer_free(renderer);
	attar_report_free(report);
	fclose(f);
	assert_string_equal(text, "\033[Hpid\033[K\n 10\033[K\n\033[J");
	free(text);
}

static void test_colour_only_on_request(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *t = attar_report_table(report, "f");

	attar_section_column(t, "self", ATTAR_UNIT_PERCENT);
	attar_section_row(t);
	attar_cell_double(t, 50);
	assert_drawn("text", (struct attar_render_opts){.colour = true}, report,
		"\033[1mf\033[0m\n"
		"  \033[1mself\033[0m\n"
		"\033[31m50.00%\033[0m\n");
}

static void test_wide_characters_keep_columns(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *t = attar_report_table(report, "");

	attar_section_column(t, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(t, "n", ATTAR_UNIT_COUNT);
	for (int i = 0; i < 3; i++) {
		attar_section_row(t);
		attar_cell_text(t, (const char *[]){"漢字", "e\u0301a", "abcdef"}[i]);
		attar_cell_u64(t, 1);
	}
	assert_drawn("text", plain, report,
		"comm    n\n漢字    1\ne\u0301"
		"a      1\nabcdef  1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_with_head_and_foot),
		cmocka_unit_test(test_long_names_keep_columns_aligned),
		cmocka_unit_test(test_lines_missed_by_a_slow_reader),
		cmocka_unit_test(test_table_is_cut_to_the_terminal),
		cmocka_unit_test(test_20_columns_keep_the_total),
		cmocka_unit_test(test_20_columns_keep_the_number_of_a_size),
		cmocka_unit_test(test_20_columns_keep_number_and_name),
		cmocka_unit_test(test_20_columns_keep_values),
		cmocka_unit_test(test_no_line_is_wider_than_the_terminal),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_small_and_large_numbers),
		cmocka_unit_test(test_hostile_names_are_harmless),
		cmocka_unit_test(test_tree_of_the_hottest_stacks),
		cmocka_unit_test(test_tree_is_limited_by_share_and_rows),
		cmocka_unit_test(test_tree_on_20_columns),
		cmocka_unit_test(test_paths_keep_their_ends),
		cmocka_unit_test(test_tree_of_a_million_frames),
		cmocka_unit_test(test_limited_table),
		cmocka_unit_test(test_empty_report),
		cmocka_unit_test(test_max_rows_of_a_table),
		cmocka_unit_test(test_rows_that_are_small),
		cmocka_unit_test(test_most_remarks),
		cmocka_unit_test(test_event_lines_keep_their_columns),
		cmocka_unit_test(test_event_lines_keep_their_main_column),
		cmocka_unit_test(test_durations_have_a_unit_by_column),
		cmocka_unit_test(test_exact_durations_have_one_unit),
		cmocka_unit_test(test_single_duration_has_its_own_unit),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_histogram_keeps_counts),
		cmocka_unit_test(test_histogram_in_ascii),
		cmocka_unit_test(test_bars_fit_the_terminal),
		cmocka_unit_test(test_histogram_with_summary),
		cmocka_unit_test(test_buckets_are_joined),
		cmocka_unit_test(test_time_series_shows_its_newest_points),
		cmocka_unit_test(test_redraw),
		cmocka_unit_test(test_redraw_fits_the_screen),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_colour_only_on_request),
		cmocka_unit_test(test_wide_characters_keep_columns),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
