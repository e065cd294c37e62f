/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/slots.h"

enum { ELEMENTS = 512 };

static bool is_found(const struct slots *s, uint32_t hash, uint32_t number)
{
	slots_each (s, hash, it)
		if (it == number)
			return true;
	return false;
}

/* Compared with a plain array: 20,000 steps of add and remove; `hashes` different hashes. */
static void agree(uint32_t hashes)
{
	bool truth[ELEMENTS + 1] = {false};
	struct slots s = {0};
	uint64_t seed = 23;
	uint32_t n = 0;

	assert_false(is_found(&s, 1, 1));
	assert_int_equal(slots_memory(&s), 0);
	for (uint64_t step = 0; step < 20000; step++) {
		uint32_t number = (uint32_t)((seed = base_hash64(seed + step)) % ELEMENTS) + 1;
		uint32_t hash = (uint32_t)base_hash64(number % hashes);

		assert_int_equal(is_found(&s, hash, number), truth[number]);
		if (truth[number])
			slots_remove(&s, hash, number);
		else
			assert_int_equal(slots_add(&s, hash, number), 0);
		truth[number] = !truth[number];
		n += truth[number] ? 1 : -1U;
		assert_int_equal(s.n, n);
		assert_true(2 * (size_t)s.n <= slots_memory(&s) / sizeof(*s.at));
	}
	for (uint32_t i = 1; i <= ELEMENTS; i++)
		assert_int_equal(is_found(&s, (uint32_t)base_hash64(i % hashes), i), truth[i]);
	slots_reset(&s);
	for (uint32_t i = 1; i <= ELEMENTS; i++)
		assert_false(is_found(&s, (uint32_t)base_hash64(i % hashes), i));
	slots_done(&s);
}

static void test_agrees_with_an_array(void **state)
{
	agree(UINT32_MAX);
	agree(3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agrees_with_an_array),
	};

	return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
