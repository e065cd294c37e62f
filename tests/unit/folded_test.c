/* SPDX-License-Identifier: MIT */
#include "drawing.h"

#include <errno.h>

static const struct attar_render_opts plain = {0};

static struct attar_report *stacks(void)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *s = attar_report_tree(report, "stacks", ATTAR_UNIT_COUNT);
	uint32_t task = attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, "my task", NULL, 0);
	uint32_t main = attar_tree_node(s, task, ATTAR_FRAME_USER, "main", "a", 1);
	uint32_t in = attar_tree_node(s, main, ATTAR_FRAME_INLINED, "operator<< ", "a", 0);

	attar_tree_node(s, in, ATTAR_FRAME_JIT, "js;fn", NULL, 5);
	attar_tree_node(s, in, ATTAR_FRAME_KERNEL, "read\n", "[kernel]", 40);
	attar_tree_node(s, task, ATTAR_FRAME_UNKNOWN, "", NULL, UINT64_MAX - 100);
	attar_report_interval(report, 1700000000000000000, 1);
	return report;
}

static void test_heaviest_first_with_suffixes(void **state)
{
	assert_drawn("folded", plain, stacks(),
		"my task;[unknown] 18446744073709551515\n"
		"my task;main 1\n"
		"my task;main;operator<<_[i];read\\x0a_[k] 40\n"
		"my task;main;operator<<_[i];js:fn_[j] 5\n");
}

static void test_time_frames(void **state)
{
	char *text = draw_one("folded", (struct attar_render_opts){.time_frames = true}, stacks());

	text[strcspn(text, "\n")] = '\0';
	assert_string_equal(text, "2023-11-14;22:13:20;my task;[unknown] 18446744073709551515");
	free(text);
}

static void test_a_report_without_stacks_is_refused(void **state)
{
	struct attar_render_opts opts = {.size = sizeof(opts)};
	struct attar_report *report = attar_report_new("top");
	struct attar_renderer *renderer = NULL;

	assert_int_equal(attar_renderer_new("folded", stdout, &opts, &renderer), 0);
	assert_int_equal(attar_renderer_draw(renderer, report), -EINVAL);
	assert_string_equal(attar_error(),
		"folded output needs call stacks, but 'top' recorded none: use -g, in Python "
		"stacks=True");
	attar_report_tree(report, "stacks", ATTAR_UNIT_COUNT);
	assert_int_equal(attar_renderer_draw(renderer, report), 0);
	attar_renderer_free(renderer);
	attar_report_free(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heaviest_first_with_suffixes),
		cmocka_unit_test(test_time_frames),
		cmocka_unit_test(test_a_report_without_stacks_is_refused),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests_name("folded", tests, NULL, NULL);
}
