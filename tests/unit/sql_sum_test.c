/* SPDX-License-Identifier: MIT */
/* The expected values were computed by SQLite 3.40.1 and 3.49.2 from the same numbers. */
#include "unit.h"

#include "profilers/sql/sum.h"

enum { NUMBERS = 40 };

/* The sum of a fixed sequence of numbers with 64 - shift bits. */
static double total(uint64_t seed, unsigned shift, bool adds_integers)
{
	struct sql_sum sum = {0};

	for (int i = 0; i < NUMBERS; i++) {
		seed = seed * 6364136223846793005 + 1442695040888963407;
		sql_sum_add(&sum, (int64_t)seed >> shift, adds_integers);
	}
	return sql_sum_real(&sum, adds_integers);
}

static void test_sums_of_each_version(void **state)
{
	static const struct {
		uint64_t seed;
		unsigned shift;
		double before, after; /* 3.43 */
	} all[] = {{2, 0, 0x1.61494a8fede38p+62, 0x1.61494a8fede3ep+62},
		{5, 0, 0x1.272b53f0dccf3p+65, 0x1.272b53f0dccf3p+65},
		{6, 0, -0x1.4a52213635524p+59, -0x1.4a52213635514p+59},
		{3, 9, 0x1.7fd48cdc4817ep+56, 0x1.7fd48cdc48180p+56}};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		assert_true(total(all[i].seed, all[i].shift, false) == all[i].before);
		assert_true(total(all[i].seed, all[i].shift, true) == all[i].after);
	}
}

static void test_integers(void **state)
{
	struct sql_sum sum = {0};

	sql_sum_add(&sum, INT64_MAX, true);
	sql_sum_add(&sum, -5, true);
	assert_int_equal(sum.n, 2);
	assert_true(sum.sum == INT64_MAX - 5 && sum.min == -5 && sum.max == INT64_MAX);
	assert_false(sum.is_too_large);
	assert_true(sql_sum_real(&sum, true) == 0x1p63);
	sql_sum_add(&sum, 6, true);
	assert_true(sum.is_too_large);
	sql_sum_add(&sum, -6, true);
	assert_true(sum.is_too_large); /* SQLite refuses the sum, too, once it was too large */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_of_each_version),
		cmocka_unit_test(test_integers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
