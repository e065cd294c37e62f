/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "report/model/tree.h"

static uint32_t add(struct attar_section *s, uint32_t parent, const char *name, uint64_t self)
{
	return attar_tree_node(s, parent, ATTAR_FRAME_USER, name, NULL, self);
}

static void test_heaviest_first_then_by_name(void **state)
{
	struct attar_report *report = attar_report_new("test");
	struct attar_section *s = attar_report_tree(report, "s", ATTAR_UNIT_COUNT);
	uint32_t light = add(s, ATTAR_TREE_ROOT, "light", 1),
		 heavy = add(s, ATTAR_TREE_ROOT, "heavy", 0);
	struct tree_walk walk = {0};
	uint32_t n, depth;

	add(s, heavy, "z", 5);
	add(s, light, "y", 1);
	add(s, heavy, "b", 2);
	add(s, heavy, "a", 2);
	assert_int_equal(tree_walk_init(&walk, s), 0);
	for (const char *expected = "heavy0z1a1b1light0y1"; *expected;) {
		const char *name;

		assert_true(tree_walk_next(&walk, &n, &depth));
		name = section_text(s, s->nodes.at[n].name);
		assert_memory_equal(expected, name, strlen(name));
		expected += strlen(name);
		assert_int_equal(depth, *expected++ - '0');
	}
	assert_false(tree_walk_next(&walk, &n, &depth));
	assert_int_equal(s->whole, 11);
	assert_int_equal(s->nodes.at[heavy].total, 9);
	assert_int_equal(s->nodes.at[light].total, 2);
	tree_walk_done(&walk);
	attar_report_free(report);
}

static void test_sums_saturate(void **state)
{
	struct attar_report *report = attar_report_new("test");
	struct attar_section *s = attar_report_tree(report, "s", ATTAR_UNIT_COUNT);
	uint32_t root = add(s, ATTAR_TREE_ROOT, "r", UINT64_MAX - 1);

	add(s, root, "a", 1);
	tree_sum(s);
	assert_int_equal(s->whole, UINT64_MAX);
	add(s, root, "b", 1);
	tree_sum(s);
	assert_int_equal(s->whole, UINT64_MAX);
	assert_int_equal(s->nodes.at[root].total, UINT64_MAX);
	attar_report_free(report);
}

static void test_tasks_in_any_order(void **state)
{
	struct attar_report *report = attar_report_new("test");
	struct attar_section *s = attar_report_tree(report, "s", ATTAR_UNIT_COUNT);
	size_t at = 0;

	for (int i = 0; i < 5; i++)
		add(s, ATTAR_TREE_ROOT, (char[]){(char)('a' + i), 0}, 1);
	attar_tree_task(s, 3, 30, 31);
	attar_tree_task(s, 1, 10, 0);
	attar_tree_task(s, 1, 10, 0);
	tree_sum(s);
	assert_null(tree_task_of(s, 0, &at));
	assert_int_equal(tree_task_of(s, 1, &at)->pid, 10);
	assert_null(tree_task_of(s, 2, &at));
	assert_int_equal(tree_task_of(s, 3, &at)->tid, 31);
	assert_null(tree_task_of(s, 4, &at));
	attar_report_free(report);
}

static void test_a_parent_must_exist(void **state)
{
	struct attar_report *report = attar_report_new("test");
	struct attar_section *s = attar_report_tree(report, "s", ATTAR_UNIT_COUNT);

	add(s, 0, "child of itself", 1);
	assert_string_equal(report->fault, "a tree node was added before its parent");
	attar_report_free(report);
}

/* A node is 32 bytes, so a profile of a million nodes needs 32 MB. */
static void test_nodes_are_small(void **state)
{
	assert_int_equal(sizeof(struct tree_node), 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heaviest_first_then_by_name),
		cmocka_unit_test(test_sums_saturate),
		cmocka_unit_test(test_tasks_in_any_order),
		cmocka_unit_test(test_a_parent_must_exist),
		cmocka_unit_test(test_nodes_are_small),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
