/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdio.h>

#include "report/string_table.h"

static uint32_t add(struct string_table *s, const char *text)
{
	uint32_t id = UINT32_MAX;

	assert_int_equal(string_table_add(s, text, &id), 0);
	return id;
}

static void test_equal_texts_are_one(void **state)
{
	struct string_table s = {0};
	uint32_t a = add(&s, "a");

	assert_string_equal(string_table_get(&s, 0), "");
	assert_int_equal(add(&s, ""), 0);
	assert_int_not_equal(a, add(&s, "b"));
	assert_int_equal(a, add(&s, "a"));
	assert_string_equal(string_table_get(&s, a), "a");
	string_table_done(&s);
	assert_string_equal(string_table_get(&s, 0), "");
}

/* 100,000 texts of 1 to 5,000 bytes that share long beginnings and ends. */
static void test_many_texts(void **state)
{
	struct string_table s = {0};
	static char text[5001];

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 100000; i++) {
			size_t n = i % 100 ? i % 40 : 5000 - i % 16;

			memset(text, 'x', n);
			snprintf(text + n / 2, sizeof(text) - n / 2, "%u", i);
			assert_int_equal(add(&s, text), i + 1);
			assert_string_equal(string_table_get(&s, i + 1), text);
		}
	}
	string_table_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_texts_are_one),
		cmocka_unit_test(test_many_texts),
	};

	return cmocka_run_group_tests_name("strings", tests, NULL, NULL);
}
