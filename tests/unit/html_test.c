/* SPDX-License-Identifier: MIT */
/*
 * The data of the page; the page is tested in a browser: tests/e2e/test_page.py,
 * test_flamegraph.py.
 */
#include "attar/private/report.h"
#include "drawing.h"

static const struct attar_render_opts plain = {0};

static void assert_holds(struct attar_report *report, const char *part)
{
	char *page = draw_one("html", plain, report);

	assert_non_null(strstr(page, part));
	free(page);
}

/* Frames are numbered by name: a 0, b 1, t 2. Digits are ! # $ % & ' for 0 to 5. The scale is 3. */
static void test_nodes_are_encoded(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *s = attar_report_tree(report, "s", ATTAR_UNIT_COUNT);
	uint32_t task = attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, "t", NULL, 0);

	attar_tree_node(s, task, ATTAR_FRAME_USER, "b", "m", 6);
	attar_tree_node(s, task, ATTAR_FRAME_KERNEL, "a", "m", 9);
	attar_tree_task(s, task, 7, 0);
	assert_holds(report,
		"\"trees\":[{\"name\":\"s\",\"unit\":\"count\",\"scale\":3,\"count\":3,\n"
		"\"nodes\":\"!$" /* new edge, frame 2 */
		"#!%"            /* new edge and weight, frame 0, 3 */
		"%##$\",\n"      /* new edge, up and weight, frame 1, 1 up, 2 */
		"\"names\":[\"a\",\"b\",\"t\"],\n\"shared\":\"!!!\",\n\"kinds\":\"105\",\n"
		"\"homes\":\"##!\",\n\"modules\":[\"\",\"m\"],\n\"tasks\":[[0,7,0]]}]");
}

/* A repeated call is one number: 4 * 1 + 1 for the first edge below f, with a weight. */
static void test_repeated_calls_are_one_number(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *s = attar_report_tree(report, "s", ATTAR_UNIT_NS);
	uint32_t f = ATTAR_TREE_ROOT;

	for (int i = 0; i < 4; i++)
		f = attar_tree_node(s, f, ATTAR_FRAME_USER, "f", NULL, 1);
	assert_holds(report, "\"nodes\":\"#!##!#'#'#\"");
}

static void test_names_share_whole_characters(void **state)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *s = attar_report_tree(report, "s", ATTAR_UNIT_COUNT);

	attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_USER, "😁", NULL, 1);
	attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_USER, "é2", NULL, 1);
	attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_USER, "é1", NULL, 1);
	attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_USER, "😀b", NULL, 1);
	attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_USER, "😀a", NULL, 1);
	assert_holds(report, "\"names\":[\"é1\",\"2\",\"😀a\",\"b\",\"😁\"],\n\"shared\":\"!#!$!\"");
}

static void test_tables_notes_and_hostile_text(void **state)
{
	struct attar_report *report = attar_report_new("</script>");
	struct attar_section *t = attar_report_table(report, "<!--");
	struct attar_notes notes = {1, 1, 0, -1, -1, 1024};
	char *page;

	attar_section_column(t, "n", ATTAR_UNIT_HEX);
	attar_section_column(t, "x", ATTAR_UNIT_TEXT);
	attar_section_row(t);
	attar_cell_u64(t, UINT64_MAX);
	attar_cell_text(t, "\"\\\001\xff</script>");
	attar_section_row(t);
	attar_report_notes(report, &notes);
	attar_report_remark(report, "<b>");
	page = draw_one("html", plain, report);
	assert_non_null(strstr(page, "<title>attar &lt;/script&gt;</title>"));
	assert_non_null(strstr(page,
		"{\"title\":\"attar \\u003c/script>\",\"command\":\"\","
		"\"profiler\":\"\\u003c/"
		"script>\",\"version\":\"1.0.0\",\"when\":\"\",\"span\":\"\","
		"\"doubt\":0,\"remarks\":[\"\\u003cb>\"],"
		"\"notes\":\"1 sample seen, 1 lost (50.00%), "
		"0 throttled; attar itself: 1.00 KiB peak\",\"lost\":1,"
		"\"tables\":[{\"name\":\"\\u003c!--\",\"kind\":\"table\",\"columns\":["
		"{\"name\":\"n\",\"number\":1,\"unit\":\"hex\"},"
		"{\"name\":\"x\",\"number\":0,\"unit\":\"text\"}],\"rows\":[\n"
		"[[18446744073709551615,\"0xffffffffffffffff\"],"
		"\"\\\"\\\\\\\\x01\ufffd\\u003c/script>\"],\n"
		"[[null,\"-\"],\"\"]]}],\n\"trees\":[],\n\"states\":[]}</script>"));
	free(page);
}

static void test_one_page_one_report(void **state)
{
	struct attar_renderer *renderer = NULL;
	struct attar_report *report = attar_report_new("profile");
	FILE *f = tmpfile();

	assert_int_equal(attar_renderer_new("html", f, NULL, &renderer), 0);
	assert_true(renderer_get_sink(renderer)->whole_run);
	assert_int_equal(attar_renderer_draw(renderer, report), 0);
	assert_true(attar_renderer_draw(renderer, report) < 0);
	assert_string_equal(attar_error(),
		"html output has a single report of the whole run, which was already written");
	attar_renderer_free(renderer);
	attar_report_free(report);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes_are_encoded),
		cmocka_unit_test(test_repeated_calls_are_one_number),
		cmocka_unit_test(test_names_share_whole_characters),
		cmocka_unit_test(test_tables_notes_and_hostile_text),
		cmocka_unit_test(test_one_page_one_report),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests_name("html", tests, NULL, NULL);
}
