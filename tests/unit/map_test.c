/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "base/map.h"

static void test_finds_inserted_values(void **state)
{
	struct map m = {0};

	assert_null(map_get(&m, 1));
	assert_int_equal(map_put(&m, 0, 10), 0);
	assert_int_equal(map_put(&m, UINT64_MAX, 20), 0);
	assert_int_equal(map_put(&m, 0, 30), 0);
	assert_int_equal(m.n, 2);
	assert_int_equal(*map_get(&m, 0), 30);
	assert_int_equal(*map_get(&m, UINT64_MAX), 20);
	map_done(&m);
}

/* Compared with a plain array: 20,000 steps of put and remove over 512 keys. */
static void test_agrees_with_an_array(void **state)
{
	uint64_t truth[512] = {0}, seed = 23;
	struct map m = {0};
	size_t n = 0;

	for (int step = 0; step < 20000; step++) {
		uint64_t key = (seed = base_hash64(seed + step)) % 512;

		if (seed >> 63) {
			n += !truth[key];
			truth[key] = seed | 1;
			assert_int_equal(map_put(&m, key, truth[key]), 0);
		} else {
			assert_int_equal(map_remove(&m, key), truth[key] != 0);
			n -= truth[key] != 0;
			truth[key] = 0;
		}
		assert_int_equal(m.n, n);
	}
	for (uint64_t key = 0; key < 512; key++) {
		uint64_t *value = map_get(&m, key);

		assert_int_equal(value ? *value : 0, truth[key]);
	}
	map_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_inserted_values),
		cmocka_unit_test(test_agrees_with_an_array),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
