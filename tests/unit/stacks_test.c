/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>

#include "sections/calltree.h"
#include "sections/samples.h"

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
	assert_memory_equal(stacks_locations(&s, number, &n), a, sizeof(a));
	assert_int_equal(n, 3);
	stacks_done(&s);
}

/*
 * 50,000 stacks of one to eight locations: each keeps its number and its locations while the tables
 * grow.
 */
static void test_many_stacks_survive_growth(void **state)
{
	enum { STACKS = 50000 };
	static uint32_t numbers[STACKS];
	struct stacks s;

	stacks_init(&s, 0);
	for (uint64_t round = 0; round < 2; round++)
		for (uint64_t i = 0; i < STACKS; i++) {
			uint64_t locations[8];
			size_t n = 1 + i % 8, got;
			uint32_t number;

			for (size_t j = 0; j < n; j++)
				locations[j] = base_hash64(i) + j;
			number = stacks_intern(&s, locations, n);
			if (!round)
				numbers[i] = number;
			assert_int_equal(number, numbers[i]);
			assert_memory_equal(stacks_locations(&s, number, &got), locations, n * 8);
			assert_int_equal(got, n);
		}
	assert_int_equal(s.n, STACKS + 1);
	assert_int_equal(s.refused, 0);
	stacks_done(&s);
}

static void test_bound_is_counted(void **state)
{
	uint64_t location = 0, refused = 0;
	struct stacks s;

	stacks_init(&s, 64 << 10);
	for (; location < 10000; location++)
		refused += stacks_intern(&s, &location, 1) == STACKS_FULL;
	assert_true(refused > 0 && refused < 10000);
	assert_int_equal(s.refused, refused);
	location = 0;
	assert_int_not_equal(stacks_intern(&s, &location, 1), STACKS_FULL); /* known entries stay */
	stacks_done(&s);
}

static void merge_and_reset(struct samples *to, struct samples *from)
{
	assert_int_equal(samples_merge(to, from), 0);
	samples_reset(from);
}

static void move(struct samples *to, struct samples *from)
{
	assert_int_equal(samples_move(to, from), 0);
}

static uint64_t samples_weight(const struct samples *s, uint64_t key)
{
	vec_each (&s->pairs, it)
		if (it->key == key)
			return it->weight;
	return 0;
}

static void add_intervals(void (*merge)(struct samples *, struct samples *))
{
	struct samples whole = {0}, interval = {0};

	for (int round = 0; round < 3; round++) {
		assert_int_equal(samples_add(&interval, 1, 7, 2), 0);
		assert_int_equal(samples_add(&interval, 1, 8 + (uint32_t)round, 1), 0);
		merge(&whole, &interval);
		assert_int_equal(interval.total, 0);
		assert_int_equal(interval.pairs.n, 0);
	}
	assert_int_equal(whole.total, 9);
	assert_int_equal(whole.pairs.n, 4);
	assert_int_equal(samples_weight(&whole, 1ULL << 32 | 7), 6);
	assert_int_equal(samples_weight(&whole, 1ULL << 32 | 9), 1);
	samples_done(&whole);
	samples_done(&interval);
}

static void test_intervals_add_up(void **state)
{
	add_intervals(merge_and_reset);
	add_intervals(move);
}

static void name(struct attar_thread *thread, const char *comm)
{
	thread->comm = comm;
	thread->comm_hash = base_hash64(base_hash_bytes(BASE_HASH_START, comm, strlen(comm)));
}

/*
 * A thread with another name is another task, whatever memory holds the name now. When the table of
 * threads is full, samples are counted by name only, and finally all together.
 */
static void test_renamed_thread_is_another_task(void **state)
{
	struct attar_process process = {.pid = 10};
	struct attar_thread thread = {.tid = 11, .process = &process, .serial = 1};
	char text[16] = "before";
	struct stack_space space;
	uint32_t before, after;

	assert_int_equal(stack_space_init(&space), 0);
	name(&thread, text);
	before = stack_space_task(&space, &thread);
	strcpy(text, "after");
	name(&thread, text);
	after = stack_space_task(&space, &thread);
	assert_int_not_equal(before, after);
	strcpy(text, "before");
	name(&thread, text);
	assert_int_equal(stack_space_task(&space, &thread), before);
	assert_string_equal(space.tasks.at[before].comm, "before");
	assert_string_equal(space.tasks.at[after].comm, "after");
	assert_int_equal(space.tasks.at[before].pid, 10);
	assert_int_equal(space.tasks.at[before].tid, 11);
	for (thread.serial = 2; thread.serial < 2 * TASKS_THREADS; thread.serial++)
		after = stack_space_task(&space, &thread);
	assert_int_equal(space.tasks.n, TASKS_THREADS + 1);
	assert_string_equal(space.tasks.at[after].comm, "before");
	assert_int_equal(space.tasks.at[after].tid, -1);
	for (; thread.serial < 4 * TASKS_THREADS; thread.serial++) {
		snprintf(text, sizeof(text), "%" PRIu64, thread.serial);
		name(&thread, text);
		after = stack_space_task(&space, &thread);
	}
	assert_int_equal(after, TASKS_OTHER);
	assert_string_equal(space.tasks.at[TASKS_OTHER].comm, "other tasks");
	assert_int_equal(space.tasks.n, TASKS_MAX);
	stack_space_done(&space);
}

/* Beyond the limit a sample loses its stack and is counted for its task. */
static void test_pairs_are_bounded(void **state)
{
	enum { STACKS = SAMPLES_PAIRS_MAX / 4 + 1000 };
	struct samples whole = {0}, interval = {0};

	for (int round = 0; round < 2; round++) {
		for (uint32_t task = 0; task < 4; task++)
			for (uint32_t stack = 1; stack <= STACKS; stack++)
				assert_int_equal(samples_add(&interval, task, stack, 1), 0);
		assert_int_equal(interval.total, 4 * STACKS);
		assert_int_equal(interval.refused, 4000);
		assert_int_equal(samples_weight(&interval, 3ULL << 32 | STACKS_FULL), 4000);
		assert_int_equal(samples_merge(&whole, &interval), 0);
		samples_reset(&interval);
	}
	assert_int_equal(whole.total, 8 * STACKS);
	assert_true(whole.pairs.n <= SAMPLES_PAIRS_MAX + 4);
	assert_true(whole.refused >= 8000);
	samples_done(&whole);
	samples_done(&interval);
}

static void test_tree_merges_common_roots(void **state)
{
	struct calltree t = {0};
	uint32_t root = calltree_child(&t, CALLTREE_ROOT, 1), a = calltree_child(&t, root, 2);

	assert_int_equal(calltree_child(&t, root, 2), a);
	assert_int_not_equal(
		calltree_child(&t, a, 2), a); /* recursion adds depth and is not merged */
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
		cmocka_unit_test(test_renamed_thread_is_another_task),
		cmocka_unit_test(test_pairs_are_bounded),
		cmocka_unit_test(test_tree_merges_common_roots),
	};

	return cmocka_run_group_tests_name("stacks", tests, NULL, NULL);
}
