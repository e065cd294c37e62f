/* SPDX-License-Identifier: MIT */
/* Histograms, compared with the sorted values themselves. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "attar/private/hist.h"
#include "base/base.h"
#include "failing.h"
#include "stats/hist.h"

enum { VALUES = 3000 };

static uint64_t seed = 23;

static uint64_t random_word(void)
{
	return base_hash64(seed++);
}

/* A value of a random number of bits, so that all powers of two occur. */
static uint64_t random_value(void)
{
	return random_word() >> random_word() % 64;
}

/* Programs in the kernel compute the bucket without an instruction for the highest bit. */
static void test_powers_by_steps(void **state)
{
	for (uint32_t power = 0; power < 64; power++) {
		const uint64_t value = UINT64_C(1) << power;

		assert_int_equal(bucket_power_by_steps(value), power);
		assert_int_equal(bucket_power_by_steps(value | (value - 1)), power);
		assert_int_equal(bucket_power(value | (value >> 1)), power);
	}
}

static void test_buckets_cover_all_values(void **state)
{
	assert_int_equal(bucket_low(0), 0);
	assert_int_equal(bucket_last(BUCKETS - 1), UINT64_MAX);
	for (uint32_t i = 0; i < BUCKETS; i++) {
		uint64_t low = bucket_low(i), last = bucket_last(i);

		assert_int_equal(bucket_of(low), i);
		assert_int_equal(bucket_of(last), i);
		assert_true(last - low <= low / BUCKETS_PER_PAGE);
		if (i + 1 < BUCKETS)
			assert_int_equal(bucket_low(i + 1), last + 1);
	}
	assert_int_equal(bucket_last(bucket_of(127)), 127);
}

static void test_an_empty_histogram(void **state)
{
	struct attar_hist_bucket bucket = {0};
	struct attar_hist h = {0};

	assert_int_equal(attar_hist_quantile(&h, 0.5), 0);
	assert_int_equal(attar_hist_sum(&h), 0);
	assert_true(attar_hist_mean(&h) == 0);
	assert_false(attar_hist_next(&h, &bucket));
	assert_false(hist_next_power(&h, &bucket));
	assert_int_equal(hist_memory(&h), 0);
	hist_reset(&h);
	attar_hist_done(&h);
}

/* 1 to 100: each value is its own bucket, so that quantiles are exact. */
static void test_percentiles_of_one_to_hundred(void **state)
{
	const double shares[] = {0, 0.07, 0.5, 0.95, 0.99, 0.999, 1};
	const uint64_t truth[] = {1, 7, 50, 95, 99, 100, 100};
	struct attar_hist h = {0};
	uint64_t values[ARRAY_SIZE(shares)];

	for (uint64_t i = 100; i; i--)
		assert_int_equal(attar_hist_add(&h, i), 0);
	hist_quantiles(&h, shares, ARRAY_SIZE(shares), values);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		assert_int_equal(values[i], truth[i]);
		assert_int_equal(attar_hist_quantile(&h, shares[i]), truth[i]);
	}
	assert_int_equal(h.sum, 5050);
	assert_true(attar_hist_mean(&h) == 50.5);
	attar_hist_done(&h);
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void assert_near(uint64_t value, uint64_t truth)
{
	uint64_t error = value > truth ? value - truth : truth - value;

	if (error > truth / 128)
		fail_msg("%llu is not %llu", (unsigned long long)value, (unsigned long long)truth);
}

static void check_quantiles(const struct attar_hist *h, const uint64_t *sorted, size_t n)
{
	assert_int_equal(attar_hist_quantile(h, 0), sorted[0]);
	assert_int_equal(attar_hist_quantile(h, 1), sorted[n - 1]);
	for (size_t i = 1; i <= 1000; i++) {
		size_t rank = MAX((n * i + 999) / 1000, (size_t)1);

		assert_near(attar_hist_quantile(h, (double)i / 1000), sorted[rank - 1]);
	}
}

static void check_hist(const struct attar_hist *h, uint64_t *values, size_t n)
{
	unsigned __int128 sum = 0;
	struct attar_hist_bucket bucket = {0};
	size_t at = 0;

	qsort(values, n, sizeof(*values), ascending);
	for (size_t i = 0; i < n; i++)
		sum += values[i];
	assert_int_equal(h->count, n);
	assert_int_equal(h->sum, (uint64_t)sum);
	assert_int_equal(h->sum_high, (uint64_t)(sum >> 64));
	assert_int_equal(h->min, values[0]);
	assert_int_equal(h->max, values[n - 1]);
	check_quantiles(h, values, n);
	while (attar_hist_next(h, &bucket))
		for (uint64_t i = 0; i < bucket.count; i++, at++)
			assert_in_range(values[at], bucket.low, bucket.last);
	assert_int_equal(at, n);
}

static void test_agrees_with_sorted_values(void **state)
{
	static uint64_t values[VALUES];

	for (size_t round = 0; round < unit_rounds(30); round++) {
		size_t n = 1 + random_word() % VALUES;
		struct attar_hist h = {0}, a = {0}, b = {0};

		for (size_t i = 0; i < n; i++) {
			values[i] = random_value();
			assert_int_equal(attar_hist_add(&h, values[i]), 0);
			assert_int_equal(attar_hist_add(i % 3 ? &a : &b, values[i]), 0);
		}
		assert_int_equal(attar_hist_merge(&a, &b), 0);
		check_hist(&h, values, n);
		check_hist(&a, values, n);
		attar_hist_done(&h);
		attar_hist_done(&a);
		attar_hist_done(&b);
	}
}

static void test_powers_of_two(void **state)
{
	const uint64_t values[] = {0, 0, 1, 5, 4, 7, 1000},
		       counts[] = {2, 1, 0, 3, 0, 0, 0, 0, 0, 0, 1};
	struct attar_hist_bucket bucket = {0};
	struct attar_hist h = {0};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		attar_hist_add(&h, values[i]);
	for (; hist_next_power(&h, &bucket); n++) {
		assert_int_equal(bucket.low, n ? 1 << (n - 1) : 0);
		assert_int_equal(bucket.last, n ? (1 << n) - 1 : 0);
		assert_int_equal(bucket.count, counts[n]);
	}
	assert_int_equal(n, ARRAY_SIZE(counts));
	attar_hist_done(&h);
	attar_hist_add(&h, UINT64_MAX);
	bucket = (struct attar_hist_bucket){0};
	assert_true(hist_next_power(&h, &bucket));
	assert_int_equal(bucket.low, 1ULL << 63);
	assert_int_equal(bucket.last, UINT64_MAX);
	assert_false(hist_next_power(&h, &bucket));
	attar_hist_done(&h);
}

/* Counts of a bucket beyond 32 bits, one by one and at once. */
static void test_large_counts(void **state)
{
	struct attar_hist h = {0}, all = {0};
	struct attar_hist_bucket bucket = {0};

	assert_int_equal(hist_add_n(&h, 7, UINT32_MAX), 0);
	assert_int_equal(attar_hist_add(&h, 7), 0);
	assert_int_equal(attar_hist_add(&h, 7), 0);
	assert_int_equal(hist_add_n(&h, 1ULL << 40, 10), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(attar_hist_merge(&all, &h), 0);
	assert_true(attar_hist_next(&all, &bucket));
	assert_int_equal(bucket.count, 3 * ((1ULL << 32) + 1));
	assert_int_equal(all.sum, 21 * ((1ULL << 32) + 1) + (30ULL << 40));
	assert_int_equal(attar_hist_quantile(&all, 0.5), 7);
	assert_int_equal(hist_add_n(&h, 1, UINT64_MAX - h.count), 0);
	assert_int_equal(attar_hist_add(&h, 7), -EOVERFLOW);
	assert_int_equal(attar_hist_merge(&h, &all), -EOVERFLOW);
	assert_int_equal(h.count, UINT64_MAX);
	attar_hist_done(&h);
	attar_hist_done(&all);
}

static void test_sums_beyond_64_bits(void **state)
{
	struct attar_hist h = {0}, all = {0};

	assert_int_equal(attar_hist_add(&h, UINT64_MAX), 0);
	assert_int_equal(attar_hist_sum(&h), UINT64_MAX);
	assert_int_equal(attar_hist_add(&h, 3), 0);
	assert_int_equal(h.sum, 2);
	assert_int_equal(h.sum_high, 1);
	assert_int_equal(attar_hist_merge(&all, &h), 0);
	assert_int_equal(attar_hist_merge(&all, &h), 0);
	assert_int_equal(all.sum_high, 2);
	assert_int_equal(attar_hist_sum(&all), UINT64_MAX);
	assert_true(attar_hist_mean(&all) == 0x1p63);
	attar_hist_done(&h);
	attar_hist_done(&all);
}

static void test_memory_is_small_and_bounded(void **state)
{
	struct attar_hist h = {0};
	size_t before;

	attar_hist_add(&h, 1000);
	assert_true(hist_memory(&h) <= 512);
	for (uint64_t v = 1000; v < 1000000; v += 100)
		attar_hist_add(&h, v);
	assert_true(hist_memory(&h) <= 3500);
	for (size_t i = 0; i < 20000; i++)
		attar_hist_add(&h, random_value());
	assert_true(hist_memory(&h) <= 19000);
	before = failing_calls;
	hist_reset(&h);
	for (size_t i = 0; i < 20000; i++)
		attar_hist_add(&h, random_value());
	assert_int_equal(h.count, 20000);
	assert_int_equal(failing_calls, before);
	attar_hist_done(&h);
	assert_int_equal(hist_memory(&h), 0);
}

/* Each allocation of a merge fails once: nothing has changed, and the next attempt succeeds. */
static void test_a_failed_addition_changes_nothing(void **state)
{
	struct attar_hist h = {0}, from = {0};
	int r;

	for (uint64_t v = 1; v < 1000000; v *= 3)
		attar_hist_add(&from, v);
	hist_add_n(&from, 9, 1ULL << 33);
	failing_from(1);
	assert_int_equal(attar_hist_add(&h, 5), -ENOMEM);
	for (size_t n = 1;; n++) {
		failing_from(n);
		r = attar_hist_merge(&h, &from);
		failing_from(0);
		if (r == 0)
			break;
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(h.count, 0);
		assert_int_equal(h.sum, 0);
		attar_hist_done(&h);
	}
	assert_int_equal(h.count, from.count);
	assert_int_equal(h.sum, from.sum);
	attar_hist_done(&h);
	attar_hist_done(&from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_powers_by_steps),
		cmocka_unit_test(test_buckets_cover_all_values),
		cmocka_unit_test(test_an_empty_histogram),
		cmocka_unit_test(test_percentiles_of_one_to_hundred),
		cmocka_unit_test(test_agrees_with_sorted_values),
		cmocka_unit_test(test_powers_of_two),
		cmocka_unit_test(test_large_counts),
		cmocka_unit_test(test_sums_beyond_64_bits),
		cmocka_unit_test(test_memory_is_small_and_bounded),
		cmocka_unit_test(test_a_failed_addition_changes_nothing),
	};

	return cmocka_run_group_tests_name("hist", tests, NULL, NULL);
}
