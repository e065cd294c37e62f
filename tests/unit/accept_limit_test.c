/* SPDX-License-Identifier: MIT */
#include "peer/accept_limit.h"

#include "unit.h"

static const uint64_t START = UINT64_C(5000000000000), MS = 1000000;

static unsigned accepted(struct accept_limit *limit, uint64_t now)
{
	unsigned n = 0;

	for (; accept_limit_allows(limit, now); n++)
		accept_limit_count(limit, now);
	return n;
}

static void test_rate(void **state)
{
	struct accept_limit limit = {0};

	assert_int_equal(accepted(&limit, START), ACCEPT_AT_ONCE);
	assert_int_equal(accepted(&limit, START), 0);
	assert_int_equal(accepted(&limit, START + 10 * MS), 10 * ACCEPT_RATE / 1000);
	assert_int_equal(accepted(&limit, START + 100000 * MS), ACCEPT_AT_ONCE);
}

static void test_origin_is_excluded_for_a_second(void **state)
{
	struct accept_limit limit = {0};

	for (int i = 0; i < REFUSED_MAX; i++)
		accept_limit_refused(&limit, 7, START + i);
	assert_false(accept_limit_excludes(&limit, 7, START + 20));
	accept_limit_refused(&limit, 7, START + 20);
	assert_true(accept_limit_excludes(&limit, 7, START + 20));
	assert_true(accept_limit_excludes(&limit, 7, START + 1000 * MS));
	assert_false(accept_limit_excludes(&limit, 7, START + 1000 * MS + 1));
	assert_false(accept_limit_excludes(&limit, 8, START + 20));
	accept_limit_refused(&limit, 7, START + 2000 * MS);
	assert_false(accept_limit_excludes(&limit, 7, START + 2000 * MS));
}

static void test_own_user_is_never_excluded(void **state)
{
	struct accept_limit limit = {0};

	for (int i = 0; i < 2 * REFUSED_MAX; i++)
		accept_limit_refused(&limit, 0, START);
	assert_false(accept_limit_excludes(&limit, 0, START));
}

/* The origin that began first makes room. */
static void test_many_origins(void **state)
{
	struct accept_limit limit = {0};

	for (unsigned origin = 1; origin <= REFUSED_ORIGINS + 1; origin++)
		for (int i = 0; i <= REFUSED_MAX; i++)
			accept_limit_refused(&limit, origin, START + origin);
	assert_false(accept_limit_excludes(&limit, 1, START + 100));
	for (unsigned origin = 2; origin <= REFUSED_ORIGINS + 1; origin++)
		assert_true(accept_limit_excludes(&limit, origin, START + 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_origin_is_excluded_for_a_second),
		cmocka_unit_test(test_own_user_is_never_excluded),
		cmocka_unit_test(test_many_origins),
	};

	return cmocka_run_group_tests_name("accept_limit", tests, NULL, NULL);
}
