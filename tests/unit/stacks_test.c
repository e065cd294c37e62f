/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "stats/calltree.h"
#include "stats/samples.h"

static void test_same_stack_same_number(void **state)
{
	const uint64_t a[] = {1, 2, 3}, b[] = {1, 2, 4};
	struct stacks s;
	uint32_t number;
	size_t n;

	stacks_init(&s, 0);
	number = stacks_intern(&s, a, 3);
	assert_int_not_equal(number, STACKS_FULL);
	assert_int_equal(stacks_intern(&s, a, 3), number);
	assert_int_not_equal(stacks_intern(&s, b, 3), number);
	assert_int_not_equal(stacks_intern(&s, a, 2), number); /* a prefix is another stack */
	assert_memory_equal(stacks_places(&s, number, &n), a, sizeof(a));
	assert_int_equal(n, 3);
	stacks_done(&s);
}

/* 50,000 stacks of one to eight places: each keeps its number and its places while the tables grow. */
static void test_many_stacks_survive_growth(void **state)
{
	enum { STACKS = 50000 };
	static uint32_t numbers[STACKS];
	struct stacks s;

	stacks_init(&s, 0);
	for (uint64_t round = 0; round < 2; round++)
		for (uint64_t i = 0; i < STACKS; i++) {
			uint64_t places[8];
			size_t n = 1 + i % 8, got;
			uint32_t number;

			for (size_t j = 0; j < n; j++)
				places[j] = base_hash64(i) + j;
			number = stacks_intern(&s, places, n);
			if (!round)
				numbers[i] = number;
			assert_int_equal(number, numbers[i]);
			assert_memory_equal(stacks_places(&s, number, &got), places, n * 8);
			assert_int_equal(got, n);
		}
	assert_int_equal(s.n, STACKS + 1);
	assert_int_equal(s.refused, 0);
	stacks_done(&s);
}

static void test_bound_is_counted(void **state)
{
	uint64_t place = 0, refused = 0;
	struct stacks s;

	stacks_init(&s, 64 << 10);
	for (; place < 10000; place++)
		refused += stacks_intern(&s, &place, 1) == STACKS_FULL;
	assert_true(refused > 0 && refused < 10000);
	assert_int_equal(s.refused, refused);
	place = 0;
	assert_int_not_equal(
		stacks_intern(&s, &place, 1), STACKS_FULL); /* what is known stays known */
	stacks_done(&s);
}

static void test_intervals_add_up(void **state)
{
	struct samples whole = {0}, interval = {0};

	for (int round = 0; round < 3; round++) {
		assert_int_equal(samples_add(&interval, 1, 7, 2), 0);
		assert_int_equal(samples_add(&interval, 1, 8 + (uint32_t)round, 1), 0);
		assert_int_equal(samples_merge(&whole, &interval), 0);
		samples_reset(&interval);
		assert_int_equal(interval.total, 0);
	}
	assert_int_equal(whole.total, 9);
	assert_int_equal(*map_get(&whole.weights, 1ULL << 32 | 7), 6);
	assert_int_equal(*map_get(&whole.weights, 1ULL << 32 | 9), 1);
	samples_done(&whole);
	samples_done(&interval);
}

/* A thread is another task under another name, and the table has an end. */
static void test_tasks(void **state)
{
	struct attar_process process = {.pid = 10};
	struct attar_thread thread = {
		.tid = 11, .comm = "before", .process = &process, .serial = 1};
	struct stack_space space;
	uint32_t before, after;

	assert_int_equal(stack_space_init(&space), 0);
	before = stack_space_task(&space, &thread);
	thread.comm = "after";
	after = stack_space_task(&space, &thread);
	assert_int_not_equal(before, after);
	thread.comm = "before";
	assert_int_equal(stack_space_task(&space, &thread), before);
	assert_int_equal(space.tasks.at[before].pid, 10);
	assert_int_equal(space.tasks.at[before].tid, 11);
	for (thread.serial = 2; thread.serial < 2 * TASKS_MAX; thread.serial++)
		after = stack_space_task(&space, &thread);
	assert_int_equal(after, 0);
	assert_string_equal(space.tasks.at[0].comm, "other tasks");
	assert_int_equal(space.tasks.n, TASKS_MAX);
	stack_space_done(&space);
}

static void test_tree_merges_common_roots(void **state)
{
	struct calltree t = {0};
	uint32_t root = calltree_child(&t, CALLTREE_ROOT, 1), a = calltree_child(&t, root, 2);

	assert_int_equal(calltree_child(&t, root, 2), a);
	assert_int_not_equal(calltree_child(&t, a, 2), a); /* recursion is deeper, not the same */
	assert_int_equal(t.nodes.n, 3);
	assert_int_equal(t.nodes.at[a].parent, root);
	calltree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_stack_same_number),
		cmocka_unit_test(test_many_stacks_survive_growth),
		cmocka_unit_test(test_bound_is_counted),
		cmocka_unit_test(test_intervals_add_up),
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_tree_merges_common_roots),
	};

	return cmocka_run_group_tests_name("stacks", tests, NULL, NULL);
}
