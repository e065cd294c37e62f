/* SPDX-License-Identifier: MIT */
/* What each method of --unwind requests from the kernel. */
#include "unit.h"

#include "run/parts/user_stacks.h"
#include "run/run.h"
#include "source/source.h"

enum { FIELDS = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN };

static char name[] = "cycles";
static const struct source source = {.name = name};

static int start(void **state)
{
	int r = attar_run_new("profile", (struct attar_run **)state);

	return r < 0 ? r : attar_symbols_new(NULL, &((struct attar_run *)*state)->symbols);
}

static int stop(void **state)
{
	attar_run_free(*state);
	return 0;
}

/* The attributes of an event with stacks. */
static struct perf_event_attr attr_of(struct attar_run *run, const char *method)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE, .sample_type = FIELDS};

	assert_int_equal(attar_run_set(run, "unwind", method), 0);
	assert_int_equal(PARTS_CALL(run, prepare), 0);
	assert_int_equal(PARTS_CALL(run, attr, &source, &attr), 0);
	return attr;
}

static void test_fp(void **state)
{
	struct perf_event_attr attr = attr_of(*state, "fp");

	assert_int_equal(attr.sample_type, FIELDS);
	assert_false(attr.exclude_callchain_user);
}

/* The chain has the part of the kernel, and the address in user code. */
static void test_lbr(void **state)
{
	struct perf_event_attr attr = attr_of(*state, "lbr");

	assert_int_equal(attr.sample_type, FIELDS | PERF_SAMPLE_BRANCH_STACK);
	assert_int_equal(attr.branch_sample_type,
		PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
			PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES);
	assert_false(attr.exclude_callchain_user);
}

/* Nothing is requested for events whose stacks have no part in user code. */
static void test_lbr_without_user_code(void **state)
{
	struct attar_run *run = *state;
	struct perf_event_attr attr[] = {{.sample_type = FIELDS, .exclude_user = 1},
		{.sample_type = FIELDS, .exclude_callchain_user = 1},
		{.sample_type = PERF_SAMPLE_IP}};

	attr_of(run, "lbr");
	for (size_t i = 0; i < ARRAY_SIZE(attr); i++) {
		struct perf_event_attr before = attr[i];

		assert_int_equal(PARTS_CALL(run, attr, &source, &attr[i]), 0);
		assert_memory_equal(&attr[i], &before, sizeof(before));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fp, start, stop),
		cmocka_unit_test_setup_teardown(test_lbr, start, stop),
		cmocka_unit_test_setup_teardown(test_lbr_without_user_code, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
