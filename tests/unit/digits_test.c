/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/digits.h"

static void assert_digits(uint64_t n)
{
	char ours[32], expected[32];

	*digits_u64(ours, n) = '\0';
	snprintf(expected, sizeof(expected), "%llu", (unsigned long long)n);
	assert_string_equal(ours, expected);
	*digits_i64(ours, (int64_t)n) = '\0';
	snprintf(expected, sizeof(expected), "%lld", (long long)n);
	assert_string_equal(ours, expected);
	*digits_hex(ours, n) = '\0';
	snprintf(expected, sizeof(expected), "%llx", (unsigned long long)n);
	assert_string_equal(ours, expected);
	*digits_padded(ours, n % 1000000, 6) = '\0';
	snprintf(expected, sizeof(expected), "%06llu", (unsigned long long)(n % 1000000));
	assert_string_equal(ours, expected);
	*digits_padded(ours, n, 9) = '\0';
	snprintf(expected, sizeof(expected), "%09llu", (unsigned long long)(n % 1000000000));
	assert_string_equal(ours, expected);
}

/* Powers of 2 and 10 and their neighbors are where the number of digits changes. */
static void test_every_number_of_digits(void **state)
{
	uint64_t power = 1;

	for (int i = 0; i < 64; i++)
		for (int near = -2; near <= 2; near++)
			assert_digits((1ULL << i) + (uint64_t)near);
	for (int i = 0; i < 20; i++, power *= 10)
		for (int near = -2; near <= 2; near++)
			assert_digits(power + (uint64_t)near);
	assert_digits(UINT64_MAX);
	assert_digits(1ULL << 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_number_of_digits),
	};

	return cmocka_run_group_tests_name("digits", tests, NULL, NULL);
}
