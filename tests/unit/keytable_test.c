/* SPDX-License-Identifier: MIT */
/* Tables by key, compared with plain arrays. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "attar/keytable.h"
#include "attar/private/keytable.h"
#include "base/base.h"
#include "failing.h"

static uint64_t seed = 23;

static uint64_t random_word(void)
{
	return base_hash64(seed++);
}

static struct attar_keytable *new_table(struct attar_keytable_opts o)
{
	struct attar_keytable *t;

	o.size = sizeof(o);
	if (attar_keytable_new(&o, &t) < 0)
		fail_msg("%s", attar_error());
	return t;
}

static void add(struct attar_keytable *t, uint64_t key, uint64_t n)
{
	struct attar_keyrow *row = attar_keytable_at_u64(t, key);

	assert_non_null(row);
	row->interval.sums[0] += n;
}

static uint64_t evicted(const struct attar_keytable *t)
{
	struct attar_keytable_stats stats;

	keytable_get_stats(t, &stats);
	return stats.evicted;
}

static void test_keys_are_bytes(void **state)
{
	struct attar_keytable *t =
		new_table((struct attar_keytable_opts){.sums = 1, .key_max = 20});
	const uint64_t number = 0x0807060504030201;
	struct attar_keyrow *row = attar_keytable_at(t, "bash", 4);

	assert_non_null(row);
	assert_int_equal(row->key_size, 4);
	assert_memory_equal(row->key, "bash", 4);
	assert_ptr_equal(attar_keytable_at(t, "bash", 4), row);
	assert_ptr_not_equal(attar_keytable_at(t, "bash", 5), row);
	assert_ptr_not_equal(attar_keytable_at(t, "bas", 3), row);
	assert_ptr_not_equal(attar_keytable_at(t, "", 0), row);
	assert_ptr_equal(attar_keytable_at(t, &number, 8), attar_keytable_at_u64(t, number));
	assert_int_equal(attar_keytable_at_u64(t, number)->number, number);
	assert_ptr_equal(attar_keytable_find(t, "bash", 4), row);
	assert_null(attar_keytable_find(t, "none", 4));
	assert_non_null(attar_keytable_at(t, "12345678901234567890", 20));
	assert_int_equal(attar_keytable_keys(t), 6);
	assert_null(attar_keytable_at(t, "12345678901234567890123456", 26));
	assert_string_equal(attar_error(), "a key has 26 bytes, this table takes at most 24");
	attar_keytable_free(t);
}

/* Sums, histograms and intervals of 300 keys of 1 to 40 bytes, in random order. */
static void test_agrees_with_arrays(void **state)
{
	enum { KEYS = 300, ROUNDS = 20, STEPS = 2000 };
	static uint64_t interval[KEYS], whole[KEYS];
	struct attar_keytable *t =
		new_table((struct attar_keytable_opts){.sums = 2, .hists = 1, .key_max = 40});
	char key[40];

	memset(key, 'x', sizeof(key));
	for (int round = 0; round < ROUNDS; round++) {
		memset(interval, 0, sizeof(interval));
		for (int step = 0; step < STEPS; step++) {
			uint64_t i = random_word() % KEYS, n = random_word() % 1000;
			struct attar_keyrow *row;

			key[0] = (char)(i / 40);
			row = attar_keytable_at(t, key, 1 + i % 40);
			row->interval.sums[0] += n;
			row->interval.sums[1]++;
			attar_hist_add(&row->interval.hists[0], n);
			interval[i] += n;
			whole[i] += n;
		}
		assert_int_equal(attar_keytable_end_interval(t), 0);
		for (uint64_t i = 0; i < KEYS; i++) {
			struct attar_keyrow *row;

			key[0] = (char)(i / 40);
			row = attar_keytable_find(t, key, 1 + i % 40);
			assert_int_equal(row ? row->interval.sums[0] : 0, interval[i]);
			assert_int_equal(row ? row->whole.sums[0] : 0, whole[i]);
			if (!row)
				continue;
			assert_int_equal(row->interval.hists[0].sum, interval[i]);
			assert_int_equal(row->interval.hists[0].count, row->interval.sums[1]);
			assert_int_equal(row->whole.hists[0].sum, whole[i]);
			assert_int_equal(row->whole.hists[0].count, row->whole.sums[1]);
		}
	}
	attar_keytable_free(t);
}

static void test_an_interval_without_events_is_empty(void **state)
{
	struct attar_keytable *t = new_table((struct attar_keytable_opts){.sums = 1});
	struct attar_keyrow *rows[2];

	add(t, 1, 5);
	assert_int_equal(attar_keytable_end_interval(t), 0);
	assert_int_equal(attar_keytable_top(t, ATTAR_SCOPE_INTERVAL, 0, rows, 2), 1);
	assert_int_equal(attar_keytable_end_interval(t), 0);
	assert_int_equal(attar_keytable_top(t, ATTAR_SCOPE_INTERVAL, 0, rows, 2), 0);
	assert_int_equal(attar_keytable_top(t, ATTAR_SCOPE_WHOLE, 0, rows, 2), 1);
	assert_int_equal(rows[0]->whole.sums[0], 5);
	attar_keytable_free(t);
}

/* The first k of 1000 keys by sum, with equal ones ordered by key, as a sort has them. */
static void test_top_is_sorted(void **state)
{
	enum { KEYS = 1000 };
	struct attar_keytable *t = new_table((struct attar_keytable_opts){.sums = 1});
	static struct attar_keyrow *rows[KEYS], **all;
	size_t n;

	for (uint64_t i = 0; i < KEYS; i++)
		add(t, i * 7919 % KEYS, i % 50);
	attar_keytable_end_interval(t);
	for (size_t k = 0; k <= KEYS; k += 1 + k / 2) {
		assert_int_equal(
			attar_keytable_top(t, ATTAR_SCOPE_WHOLE, 0, rows, k), MIN(k, (size_t)980));
		for (size_t i = 1; i < MIN(k, (size_t)980); i++) {
			uint64_t a = rows[i - 1]->whole.sums[0], b = rows[i]->whole.sums[0];

			assert_true(a > b || (a == b && rows[i - 1]->number < rows[i]->number));
		}
		if (k)
			assert_int_equal(rows[0]->whole.sums[0], 49);
	}
	assert_int_equal(attar_keytable_top(t, ATTAR_SCOPE_WHOLE, 1, rows, 1), 0);
	assert_int_equal(attar_keytable_rows(t, ATTAR_SCOPE_WHOLE, 1, &all, &n), -EINVAL);
	attar_keytable_free(t);
}

static uint64_t removed_values;

static void on_remove(void *ctx, struct attar_keyrow *row)
{
	struct attar_keytable *const *t = ctx;

	removed_values += *(uint64_t *)row->value;
	assert_non_null(*t);
}

/*
 * A million keys in a table of 4,096: sums, histograms and the values of removed rows add up, heavy
 * keys stay, and memory is bounded.
 */
static void test_a_million_keys(void **state)
{
	enum { KEYS = 1000000, HEAVY = 100, TIMES = 200 };
	static struct attar_keytable *t;
	struct attar_keyrow *rows[HEAVY], **all;
	struct attar_keytable_stats stats;
	size_t n;
	uint64_t keys = unit_rounds(KEYS), sum = 0, values = 0;

	removed_values = 0;
	t = new_table((struct attar_keytable_opts){.sums = 1,
		.hists = 1,
		.value_size = 8,
		.keys_max = 4096,
		.on_remove = on_remove,
		.ctx = &t});
	for (uint64_t i = 0; i < keys; i++) {
		struct attar_keyrow *row = attar_keytable_at_u64(t, base_hash64(i + 1));

		row->interval.sums[0]++;
		attar_hist_add(&row->interval.hists[0], i);
		++*(uint64_t *)row->value;
		if (i % (keys / (HEAVY * TIMES)) == 0)
			add(t, i / (keys / (HEAVY * TIMES)) % HEAVY, 10);
	}
	attar_keytable_end_interval(t);
	for (struct attar_keyrow *row = NULL; (row = attar_keytable_next(t, row));) {
		sum += row->whole.sums[0];
		values += row->whole.hists[0].count;
	}
	sum += attar_keytable_others(t)->whole.sums[0];
	values += attar_keytable_others(t)->whole.hists[0].count;
	assert_int_equal(sum, keys + HEAVY * TIMES * 10);
	assert_int_equal(values, keys);
	assert_int_equal(attar_keytable_top(t, ATTAR_SCOPE_WHOLE, 0, rows, HEAVY), HEAVY);
	for (size_t i = 0; i < HEAVY; i++)
		assert_int_equal(rows[i]->whole.sums[0], TIMES * 10);
	keytable_get_stats(t, &stats);
	assert_int_equal(attar_keytable_rows(t, ATTAR_SCOPE_WHOLE, 0, &all, &n), 0);
	assert_int_equal(n, stats.keys + 1);
	assert_ptr_equal(all[n - 1], attar_keytable_others(t));
	assert_null(all[n - 1]->key);
	free(all);
	assert_true(stats.keys <= 4096 && stats.keys > 3000);
	assert_int_equal(stats.keys + stats.evicted, keys + HEAVY);
	assert_true(stats.memory < 8000000);
	attar_keytable_free(t);
	assert_int_equal(removed_values, keys);
}

/* The same keys again and again: neither additions nor intervals allocate. */
static void test_known_keys_allocate_nothing(void **state)
{
	struct attar_keytable *t = new_table((struct attar_keytable_opts){.sums = 1, .hists = 1});
	size_t before = 0;

	for (int round = 0; round < 10; round++) {
		for (uint64_t key = 0; key < 1000; key++) {
			struct attar_keyrow *row = attar_keytable_at_u64(t, key);

			row->interval.sums[0]++;
			attar_hist_add(&row->interval.hists[0], key);
		}
		attar_keytable_end_interval(t);
		if (round == 1)
			before = failing_calls;
	}
	assert_int_equal(failing_calls, before);
	attar_keytable_free(t);
}

static void test_merging(void **state)
{
	struct attar_keytable_opts o = {.sums = 1, .hists = 1, .value_size = 8, .keys_max = 64};
	struct attar_keytable *a = new_table(o), *b = new_table(o), *other;
	struct attar_keyrow *row;
	uint64_t sum = 0;

	for (uint64_t key = 0; key < 40; key++)
		add(a, key, 1);
	attar_keytable_end_interval(a);
	for (uint64_t key = 20; key < 100; key++) {
		add(b, key, 10);
		*(uint64_t *)attar_keytable_at_u64(b, key)->value = key;
	}
	assert_int_equal(keytable_merge(a, b), 0);
	row = attar_keytable_at_u64(a, 99);
	assert_int_equal(row->interval.sums[0], 10);
	assert_int_equal(*(uint64_t *)row->value, 99);
	attar_keytable_end_interval(a);
	for (row = NULL; (row = attar_keytable_next(a, row));)
		sum += row->whole.sums[0];
	assert_int_equal(sum + attar_keytable_others(a)->whole.sums[0], 40 + 800);
	assert_true(evicted(a) > evicted(b));
	o.sums = 2;
	other = new_table(o);
	assert_int_equal(keytable_merge(other, a), -EINVAL);
	attar_keytable_free(a);
	attar_keytable_free(b);
	attar_keytable_free(other);
}

static void test_reset(void **state)
{
	struct attar_keytable *t =
		new_table((struct attar_keytable_opts){.sums = 1, .keys_max = 8});

	for (uint64_t key = 0; key < 100; key++)
		add(t, key, 1);
	assert_true(evicted(t) > 0);
	keytable_reset(t);
	assert_int_equal(attar_keytable_keys(t), 0);
	assert_int_equal(evicted(t), 0);
	assert_int_equal(attar_keytable_others(t)->interval.sums[0], 0);
	assert_null(attar_keytable_next(t, NULL));
	add(t, 5, 3);
	assert_int_equal(attar_keytable_at_u64(t, 5)->interval.sums[0], 3);
	attar_keytable_free(t);
}

/* Each allocation fails once, from the first on: an error, and what was added is still exact. */
static void test_out_of_memory(void **state)
{
	struct attar_keytable_opts o = {
		.size = sizeof(o), .sums = 1, .hists = 1, .keys_max = 256, .key_max = 16};
	bool failed = true;

	for (size_t n = 1; failed; n++) {
		struct attar_keytable *t = NULL;
		uint64_t added = 0, sum = 0;

		failing_from(n);
		failed = attar_keytable_new(&o, &t) < 0;
		for (uint64_t key = 0; t && key < 600; key++) {
			struct attar_keyrow *row = attar_keytable_at_u64(t, key);

			failed |= !row;
			if (!row || attar_hist_add(&row->interval.hists[0], key) < 0)
				continue;
			row->interval.sums[0]++;
			added++;
		}
		failing_from(0);
		if (!t)
			continue;
		for (struct attar_keyrow *row = NULL; (row = attar_keytable_next(t, row));) {
			assert_int_equal(row->interval.sums[0], row->interval.hists[0].count);
			sum += row->interval.sums[0];
		}
		assert_int_equal(sum + attar_keytable_others(t)->interval.sums[0], added);
		attar_keytable_free(t);
	}
}

/* Sums stay at the limit that they reach, also those of the whole run and of all others. */
static void test_sums_have_limits(void **state)
{
	struct attar_keytable *t = new_table((struct attar_keytable_opts){
		.sums = 2, .keys_max = 8, .rank = 1, .signed_sums = 1 << 1});
	const uint64_t least = (uint64_t)INT64_MAX + 1;

	for (uint64_t key = 0; key < 8; key++) {
		struct attar_keyrow *row = attar_keytable_at_u64(t, key);

		keysums_add(&row->interval, 2, 0, UINT64_MAX / 4 * 3, false);
		keysums_add(&row->interval, 2, 1, least / 4 * 5, true);
	}
	assert_int_equal(attar_keytable_end_interval(t), 0);
	for (uint64_t key = 0; key < 8; key++) {
		attar_keytable_at_u64(t, key)->interval.sums[0] = UINT64_MAX / 4 * 3;
		attar_keytable_at_u64(t, key)->interval.sums[1] = least / 4 * 5;
	}
	assert_int_equal(attar_keytable_end_interval(t), 0);
	assert_int_equal(attar_keytable_at_u64(t, 7)->whole.sums[0], UINT64_MAX);
	assert_int_equal(attar_keytable_at_u64(t, 7)->whole.sums[1], least);
	for (uint64_t key = 8; !evicted(t); key++)
		assert_non_null(attar_keytable_at_u64(t, key));
	assert_int_equal(attar_keytable_others(t)->whole.sums[0], UINT64_MAX);
	assert_int_equal(attar_keytable_others(t)->whole.sums[1], least);
	assert_true(keysums_is_beyond(&attar_keytable_others(t)->whole, 2, 0));
	assert_true(keysums_is_beyond(&attar_keytable_others(t)->whole, 2, 1));
	attar_keytable_free(t);
}

/* A sum that is equal to a limit does not stay there; one that was beyond does. */
static void test_limits_are_values_of_sums(void **state)
{
	const struct {
		int64_t values[3], sum;
		bool is_beyond;
	} cases[] = {
		{{INT64_MIN, 5, 0}, INT64_MIN + 5, false},
		{{1, INT64_MIN, 2}, INT64_MIN + 3, false},
		{{INT64_MAX, -5, 1}, INT64_MAX - 4, false},
		{{INT64_MAX - 1, 1, 0}, INT64_MAX, false},
		{{INT64_MIN, -1, 5}, INT64_MIN, true},
		{{INT64_MAX, 1, -5}, INT64_MAX, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int intervals = 0; intervals < 2; intervals++) {
			struct attar_keytable *t = new_table(
				(struct attar_keytable_opts){.sums = 1, .signed_sums = 1});
			const struct attar_keyrow *row = NULL;

			for (int v = 0; v < 3; v++) {
				row = attar_keytable_at_u64(t, 1);
				keysums_add(
					&row->interval, 1, 0, (uint64_t)cases[i].values[v], true);
				if (intervals)
					assert_int_equal(attar_keytable_end_interval(t), 0);
			}
			assert_int_equal(attar_keytable_end_interval(t), 0);
			assert_true((int64_t)row->whole.sums[0] == cases[i].sum);
			assert_int_equal(keysums_is_beyond(&row->whole, 1, 0), cases[i].is_beyond);
			attar_keytable_at_u64(t, 1);
			assert_false(keysums_is_beyond(&row->interval, 1, 0));
			attar_keytable_free(t);
		}
}

/* The sum of a run stays at the limit of the first interval that leaves 64 bits. */
static void test_the_first_limit_stays(void **state)
{
	struct attar_keytable *t =
		new_table((struct attar_keytable_opts){.sums = 1, .signed_sums = 1});
	const int64_t values[][2] = {{INT64_MAX, 1}, {INT64_MIN, -1}};
	const struct attar_keyrow *row = NULL;

	for (size_t i = 0; i < 2; i++) {
		row = attar_keytable_at_u64(t, 1);
		for (size_t v = 0; v < 2; v++)
			keysums_add(&row->interval, 1, 0, (uint64_t)values[i][v], true);
		assert_int_equal(attar_keytable_end_interval(t), 0);
	}
	assert_true((int64_t)row->interval.sums[0] == INT64_MIN);
	assert_true((int64_t)row->whole.sums[0] == INT64_MAX);
	attar_keytable_free(t);
}

static void test_options_out_of_range(void **state)
{
	struct attar_keytable_opts o = {.size = sizeof(o), .key_max = ATTAR_KEY_MAX + 1};
	struct attar_keytable *t;

	assert_int_equal(attar_keytable_new(&o, &t), -EINVAL);
	o = (struct attar_keytable_opts){.size = sizeof(o), .keys_max = 7};
	assert_int_equal(attar_keytable_new(&o, &t), -EINVAL);
	o = (struct attar_keytable_opts){.size = sizeof(o), .sums = 1, .rank = 1};
	assert_int_equal(attar_keytable_new(&o, &t), -EINVAL);
	assert_int_equal(attar_keytable_new(NULL, &t), 0);
	assert_non_null(attar_keytable_at_u64(t, 1));
	assert_null(attar_keytable_free(t));
	assert_null(attar_keytable_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_are_bytes),
		cmocka_unit_test(test_agrees_with_arrays),
		cmocka_unit_test(test_an_interval_without_events_is_empty),
		cmocka_unit_test(test_top_is_sorted),
		cmocka_unit_test(test_a_million_keys),
		cmocka_unit_test(test_known_keys_allocate_nothing),
		cmocka_unit_test(test_merging),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_sums_have_limits),
		cmocka_unit_test(test_limits_are_values_of_sums),
		cmocka_unit_test(test_the_first_limit_stays),
		cmocka_unit_test(test_options_out_of_range),
	};

	return cmocka_run_group_tests_name("keytable", tests, NULL, NULL);
}
