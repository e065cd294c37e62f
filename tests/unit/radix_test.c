/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/radix.h"

enum { MANY = 3 * RADIX_MANY };

struct element {
	uint64_t key;
	uint32_t number;
};

static int by_key(const void *a, const void *b)
{
	const struct element *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Keys in any order: each of [0, n / 2) and of the same range above bit 40, those twice. */
static void fill(uint64_t *keys, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t k = i * 7919 % n;

		keys[i] = k < n / 2 ? k : 1ULL << 40 | (k - n / 2) / 2;
	}
}

/* Each key and number is not lower than the one before; each number is there once. */
static void assert_order(const uint64_t *keys, const uint32_t *order, size_t n)
{
	bool *seen = calloc(n + 1, 1);

	assert_non_null(seen);
	for (size_t i = 0; i < n; i++) {
		assert_true(order[i] < n);
		assert_false(seen[order[i]]);
		seen[order[i]] = true;
		if (!i)
			continue;
		assert_true(keys[order[i - 1]] <= keys[order[i]]);
		if (keys[order[i - 1]] == keys[order[i]])
			assert_true(order[i - 1] < order[i]);
	}
	free(seen);
}

static const size_t sizes[] = {
	0, 1, 2, RADIX_MIN - 1, RADIX_MIN, 1000, RADIX_MANY - 1, RADIX_MANY, MANY};

static void test_order(void **state)
{
	static uint64_t keys[MANY];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint32_t *order;

		fill(keys, sizes[i]);
		order = radix_order(keys, sizes[i]);
		assert_non_null(order);
		assert_order(keys, order, sizes[i]);
		free(order);
	}
}

static void test_equal_keys(void **state)
{
	static uint64_t keys[MANY];

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		keys[i] = 0xffff812345678000;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint32_t *order = radix_order(keys, sizes[i]);

		assert_non_null(order);
		for (size_t j = 0; j < sizes[i]; j++)
			assert_int_equal(order[j], j);
		free(order);
	}
}

static void test_sort(void **state)
{
	static uint64_t keys[MANY];
	static uint32_t order[MANY];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t n = sizes[i];
		struct element *elements = malloc((n + 1) * sizeof(*elements));

		assert_non_null(elements);
		fill(keys, n);
		for (size_t j = 0; j < n; j++)
			elements[j] = (struct element){.key = keys[j], .number = (uint32_t)j};
		elements =
			radix_sort(elements, n, sizeof(*elements), sizeof(elements->key), by_key);
		for (size_t j = 0; j < n; j++) {
			order[j] = elements[j].number;
			assert_int_equal(elements[j].key, keys[order[j]]);
		}
		assert_order(keys, order, n);
		free(elements);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_equal_keys),
		cmocka_unit_test(test_sort),
	};

	return cmocka_run_group_tests_name("radix", tests, NULL, NULL);
}
