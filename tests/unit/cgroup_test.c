/* SPDX-License-Identifier: MIT */
/* Paths of control groups, and the lines of /proc/PID/cgroup. */
#include "unit.h"

#include <string.h>

#include "perf/cgroup.h"

static void path_is(const char *above, const char *name, const char *expected)
{
	struct cgroup_hierarchy h = {0};
	struct buf path = {0};

	buf_str(&h.above, above);
	cgroup_path(&h, name, &path);
	assert_string_equal(buf_text(&path), expected);
	buf_done(&path);
	cgroup_hierarchy_done(&h);
}

static void test_paths(void **state)
{
	path_is("/", "/", "/");
	path_is("/", "web/a", "/web/a");
	path_is("/docker/1", "/", "/docker/1"); /* what is mounted is not the root */
	path_is("/docker/1", "web", "/docker/1/web");
	path_is("/..", "web", "/../web"); /* above the root of a cgroup namespace */
}

static bool contains(const char *group, const char *path)
{
	return cgroup_contains(group, path, strlen(path));
}

static void test_groups_below(void **state)
{
	assert_true(contains("/web", "/web"));
	assert_true(contains("/web", "/web/a/b"));
	assert_false(contains("/web", "/web2"));
	assert_false(contains("/web", "/we"));
	assert_false(contains("/web", "/"));
	assert_false(contains("/web", "/a/web"));
	assert_true(contains("/", "/"));
	assert_true(contains("/", "/web"));
	assert_true(cgroup_contains("/web", "/web/a,", 6)); /* not NUL-terminated */
	assert_false(cgroup_contains("/web", "/webs", 3));
}

static void line_is(const char *text, bool is_v1, const char *expected, int number)
{
	struct cgroup_hierarchy h = {.is_v1 = is_v1};
	struct buf path = {0};
	int found = -1, r = cgroup_in_text(&h, text, &path, &found);

	assert_int_equal(r, expected ? 0 : -ENOENT);
	assert_string_equal(buf_text(&path), expected ? expected : "");
	assert_int_equal(found, expected ? number : -1);
	buf_done(&path);
}

static void test_lines_of_hierarchies(void **state)
{
	static const char mixed[] = "12:cpu,perf_event:/one\n9:name=perf_events:/no\n"
				    "3:my_perf_event:/no\n0::/two:three\n";

	line_is(mixed, true, "/one", 12);
	line_is(mixed, false, "/two:three", 0);
	line_is("9:name=perf_events:/no\n3:perf_event2,cpu:/no\n", true, NULL, 0);
	line_is("7:perf_event:/\n", false, NULL, 0);
	line_is("7:perf_event:/\n", true, "/", 7);
	line_is("0::/no newline", false, "/no newline", 0);
	line_is("", true, NULL, 0);
	line_is("0:\n:\n", false, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_groups_below),
		cmocka_unit_test(test_lines_of_hierarchies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
