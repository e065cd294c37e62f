/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "base/parse.h"

static void test_times(void **state)
{
	uint64_t ns = 7;

	assert_int_equal(parse_time("250ms", 1, &ns), 0);
	assert_int_equal(ns, 250000000);
	assert_int_equal(parse_time("1.5s", 1, &ns), 0);
	assert_int_equal(ns, 1500000000);
	assert_int_equal(parse_time("1000", 1000000, &ns), 0);
	assert_int_equal(ns, 1000000000);
	assert_int_equal(parse_time("4us", 1, &ns), 0);
	assert_int_equal(ns, 4000);
	for (const char *const *bad =
			(const char *const[]){"", "s", ".", "-1s", "1x", "1s ", "1e3", NULL};
		*bad; bad++)
		assert_int_equal(parse_time(*bad, 1, &ns), -EINVAL);
	assert_int_equal(parse_time("99999999999h", 1, &ns), -ERANGE);
	assert_int_equal(ns, 4000); /* untouched by failures */
}

static void test_numbers(void **state)
{
	uint64_t value = 0;

	assert_int_equal(parse_u64("0x1f", &value), 0);
	assert_int_equal(value, 31);
	assert_int_equal(parse_u64("010", &value), 0);
	assert_int_equal(value, 10);
	assert_int_equal(parse_u64("-1", &value), -EINVAL);
	assert_int_equal(parse_u64(" 1", &value), -EINVAL);
	assert_int_equal(parse_u64("99999999999999999999", &value), -ERANGE);
}

static void test_lists(void **state)
{
	parse_ints list = {0};

	assert_int_equal(parse_list("8,0-3,2", 9, &list), 0);
	assert_int_equal(list.n, 5);
	assert_int_equal(list.at[3], 3);
	assert_int_equal(list.at[4], 8);
	vec_done(&list);
	for (const char *const *bad =
			(const char *const[]){"", "a", "1-", "1,", "-1", "3-1", "1 2", NULL};
		*bad; bad++) {
		assert_int_equal(parse_list(*bad, 9, &list), -EINVAL);
		vec_done(&list);
	}
	assert_int_equal(parse_list("99", 1, &list), -ERANGE);
	assert_string_equal(attar_error(), "99 in '99' exceeds the maximum of 1");
	vec_done(&list);
	assert_int_equal(parse_list("1,123456789012", 9, &list), -ERANGE);
	assert_string_equal(
		attar_error(), "123456789012 in '1,123456789012' exceeds the maximum of 9");
	vec_done(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
