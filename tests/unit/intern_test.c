/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdio.h>

#include "base/intern.h"

static uint32_t add(struct intern *t, const char *text)
{
	uint32_t id = UINT32_MAX;

	assert_int_equal(intern_id(t, text, &id), 0);
	return id;
}

static void test_equal_texts_have_one_number_and_address(void **state)
{
	struct intern t = {0};
	uint32_t a = add(&t, "a");
	const char *text = intern_text(&t, "a");

	assert_string_equal(intern_get(&t, 0), "");
	assert_int_equal(add(&t, ""), 0);
	assert_ptr_equal(intern_text(&t, ""), intern_bytes(&t, "a", 0));
	assert_int_not_equal(a, add(&t, "b"));
	assert_int_equal(a, add(&t, "a"));
	assert_string_equal(text, "a");
	assert_ptr_equal(intern_get(&t, a), text);
	assert_ptr_equal(intern_bytes(&t, "abc", 1), text);
	assert_ptr_equal(intern_bytes(&t, "a\0c", 3), text);
	assert_int_equal(t.n, 2);
	intern_done(&t);
	assert_string_equal(intern_get(&t, 0), "");
}

/* 100,000 texts of 1 to 5,000 bytes that share long beginnings and ends; addresses are stable. */
static void test_many_texts(void **state)
{
	struct intern t = {0};
	static char text[5001];
	static const char *addresses[100000];

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 100000; i++) {
			size_t n = i % 100 ? i % 40 : 5000 - i % 16;

			memset(text, 'x', n);
			snprintf(text + n / 2, sizeof(text) - n / 2, "%u", i);
			assert_int_equal(add(&t, text), i + 1);
			assert_string_equal(intern_get(&t, i + 1), text);
			if (round == 0)
				addresses[i] = intern_get(&t, i + 1);
			assert_ptr_equal(intern_text(&t, text), addresses[i]);
		}
	}
	assert_int_equal(t.n, 100000);
	intern_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_texts_have_one_number_and_address),
		cmocka_unit_test(test_many_texts),
	};

	return cmocka_run_group_tests_name("intern", tests, NULL, NULL);
}
