/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "report/sinks/layout.h"

/* self, total, comm, dso, symbol */
static void make(struct layout_column *at, unsigned dso, unsigned symbol)
{
	const struct layout_column columns[] = {
		{.wish = 6},
		{.wish = 7},
		{.wish = 15, .text = true},
		{.wish = dso, .text = true},
		{.wish = symbol, .text = true},
	};

	memcpy(at, columns, sizeof(columns));
}

static void test_no_limit(void **state)
{
	struct layout_column at[5];

	make(at, 10000, 20);
	assert_int_equal(layout_fit(at, 5, 0), 0);
	assert_int_equal(at[2].width, 15);
	assert_int_equal(at[3].width, 256);
	assert_int_equal(at[4].width, 20);
	at[3].grows = true;
	at[4].wish = 200;
	assert_int_equal(layout_fit(at, 5, 0), 0);
	assert_int_equal(at[3].width, 48);
	assert_int_equal(at[4].width, 200);
}

static void test_fitting_columns_are_unchanged(void **state)
{
	struct layout_column at[5];

	make(at, 10, 20);
	assert_int_equal(layout_fit(at, 5, 6 + 7 + 15 + 10 + 20 + 4 * LAYOUT_GAP), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(at[i].width, at[i].wish);
}

/*
 * 80 columns, 21 of them for numbers and gaps: symbol shrinks to 32, dso to 16, then symbol by the
 * last 4.
 */
static void test_text_columns_shrink_in_turn(void **state)
{
	struct layout_column at[5];

	make(at, 50, 200);
	assert_int_equal(layout_fit(at, 5, 80), 0);
	assert_int_equal(at[4].width, 28);
	assert_int_equal(at[3].width, 16);
	assert_int_equal(at[2].width, 15);
}

static void test_numbers_are_hidden_instead_of_cut(void **state)
{
	struct layout_column at[5];

	make(at, 50, 200);
	assert_int_equal(layout_fit(at, 5, 20), 3);
	assert_int_equal(at[0].width, 6);
	assert_true(at[1].hidden && at[2].hidden && at[3].hidden && !at[0].hidden);
	assert_int_equal(at[4].width, 12);
	make(at, 50, 200);
	assert_int_equal(layout_fit(at, 5, 44), 1); /* dso; 6 + 7 + 12 + 13 and gaps */
	assert_true(at[3].hidden);
	assert_int_equal(at[2].width, 12);
}

/* Time, comm, tid, CPU, event and fields: numbers that are not kept are hidden first. */
static void test_kept_columns_are_hidden_last(void **state)
{
	struct layout_column at[] = {{.wish = 15}, {.wish = 15, .text = true, .keep = true},
		{.wish = 6}, {.wish = 3}, {.wish = 30, .text = true, .keep = true},
		{.wish = 200, .text = true, .keep = true}};

	assert_int_equal(layout_fit(at, 6, 60), 2);
	assert_true(at[2].hidden && at[3].hidden && !at[4].hidden);
	assert_int_equal(layout_fit(at, 6, 30), 4);
	assert_true(at[1].hidden && at[4].hidden);
}

static void test_no_columns_and_no_texts(void **state)
{
	struct layout_column numbers[] = {{.wish = 10}, {.wish = 10}, {.wish = 10}};

	assert_int_equal(layout_fit(NULL, 0, 10), 0);
	assert_int_equal(layout_fit(numbers, 3, 22), 1);
	assert_true(!numbers[0].hidden && !numbers[1].hidden && numbers[2].hidden);
	assert_int_equal(layout_fit(numbers, 3, 1), 2);
	assert_false(numbers[0].hidden);
}

/* Any set of columns: what is shown fits, or is one number and one text of one column. */
static void test_every_width(void **state)
{
	uint64_t seed = 23;

	for (int round = 0; round < 20000; round++) {
		struct layout_column at[6] = {0};
		size_t n = 1 + (seed = base_hash64(seed + 1)) % 6;
		unsigned columns = 1 + (seed >> 8) % 120, sum = 0, shown = 0;

		for (size_t i = 0; i < n; i++) {
			at[i].wish = 1 + (seed = base_hash64(seed)) % 60;
			at[i].text = seed >> 63;
		}
		layout_fit(at, n, columns);
		for (size_t i = 0; i < n; i++) {
			assert_true(at[i].hidden || (at[i].width && at[i].width <= at[i].wish));
			sum += at[i].hidden ? 0 : at[i].width + (sum ? LAYOUT_GAP : 0);
			shown += !at[i].hidden;
		}
		assert_in_range(shown, 1, n);
		assert_true(sum <= columns || shown <= 2);
	}
}

/* value, unit, event, ratio, quality: the event names the row, the value is its number. */
static void test_key_and_number_are_left(void **state)
{
	struct layout_column at[] = {
		{.wish = 6, .number = true},
		{.wish = 4, .text = true, .describes = true},
		{.wish = 16, .text = true},
		{.wish = 5, .number = true},
		{.wish = 7, .text = true, .describes = true},
	};
	/* state, meaning, times, total */
	struct layout_column states[] = {
		{.wish = 2, .text = true},
		{.wish = 13, .text = true, .describes = true},
		{.wish = 5, .number = true},
		{.wish = 9, .number = true},
	};
	/* tid, syscall, calls, total */
	struct layout_column calls[] = {
		{.wish = 7},
		{.wish = 12, .text = true},
		{.wish = 5, .number = true},
		{.wish = 9, .number = true},
	};

	assert_int_equal(layout_fit(at, 5, 20), 3);
	assert_false(at[0].hidden || at[2].hidden);
	assert_int_equal(at[2].width, 12);
	assert_int_equal(layout_fit(states, 4, 20), 2);
	assert_false(states[0].hidden || states[2].hidden);
	assert_int_equal(layout_fit(calls, 4, 20), 1);
	assert_true(calls[3].hidden && !calls[2].hidden);
	assert_int_equal(calls[1].width, 4);
}

/* tid, count under the name of an event, comm */
static void test_long_name_of_a_number(void **state)
{
	const struct layout_column columns[] = {
		{.wish = 7},
		{.wish = 26, .head = 17, .number = true},
		{.wish = 15, .text = true},
	};
	struct layout_column at[3];

	memcpy(at, columns, sizeof(at));
	assert_int_equal(layout_fit(at, 3, 50), 0);
	assert_int_equal(at[1].width, 26);
	assert_int_equal(at[2].width, 13);
	memcpy(at, columns, sizeof(at));
	assert_int_equal(layout_fit(at, 3, 28), 0); /* the name is shortened before comm */
	assert_int_equal(at[1].width, 9);
	assert_int_equal(at[2].width, 8);
	memcpy(at, columns, sizeof(at));
	assert_int_equal(layout_fit(at, 3, 23), 1); /* comm has no 4 columns */
	assert_true(at[2].hidden && !at[0].hidden && !at[1].hidden);
	assert_int_equal(at[0].width, 7);
	assert_int_equal(at[1].width, 14);
}

/* A text is the key, and other texts, behind numbers, are not. */
static void test_last_text_gives_way_to_a_number(void **state)
{
	/* time spent, share, in */
	struct layout_column parts[] = {
		{.wish = 12, .text = true},
		{.wish = 6, .number = true},
		{.wish = 20, .text = true},
	};
	/* finding, value, limit */
	struct layout_column findings[] = {
		{.wish = 20, .text = true},
		{.wish = 8, .text = true, .number = true},
		{.wish = 6, .text = true, .describes = true},
	};

	assert_int_equal(layout_fit(parts, 3, 20), 1);
	assert_true(parts[2].hidden);
	assert_int_equal(parts[0].width, 12);
	assert_int_equal(parts[1].width, 6);
	assert_int_equal(layout_fit(findings, 3, 20), 1);
	assert_true(findings[2].hidden);
	assert_int_equal(findings[0].width, 10);
	assert_int_equal(findings[1].width, 8);
}

/* Time, pid, result, file and arguments of event lines: pid and file are what they are about. */
static void test_main_columns_are_left(void **state)
{
	const struct layout_column columns[] = {{.wish = 15}, {.wish = 7, .main = true},
		{.wish = 6, .text = true, .keep = true},
		{.wish = 40, .text = true, .keep = true, .main = true},
		{.wish = 9, .text = true, .keep = true}};
	struct layout_column at[5];

	memcpy(at, columns, sizeof(at));
	assert_int_equal(layout_fit(at, 5, 40), 2);
	assert_true(at[2].hidden && at[4].hidden && !at[0].hidden);
	assert_int_equal(at[3].width, 40 - 15 - 7 - 2 * LAYOUT_GAP);
	memcpy(at, columns, sizeof(at));
	assert_int_equal(layout_fit(at, 5, 30), 3);
	assert_true(at[0].hidden && !at[1].hidden && !at[3].hidden);
	assert_int_equal(at[3].width, 30 - 7 - LAYOUT_GAP);
	memcpy(at, columns, sizeof(at));
	assert_int_equal(layout_fit(at, 5, 15), 3);
	assert_int_equal(at[1].width, 7);
	assert_int_equal(at[3].width, 15 - 7 - LAYOUT_GAP);
}

/* Later lines of events: neither more nor fewer columns are hidden. */
static void test_hidden_columns_stay_hidden(void **state)
{
	struct layout_column at[] = {{.wish = 15, .hidden = true}, {.wish = 9, .main = true},
		{.wish = 30, .text = true, .keep = true, .main = true},
		{.wish = 4, .text = true, .keep = true}};

	layout_fit_shown(at, 4, 30);
	assert_true(at[0].hidden && !at[3].hidden);
	assert_int_equal(at[1].width, 9);
	assert_int_equal(at[2].width, 30 - 9 - 4 - 2 * LAYOUT_GAP);
	layout_fit_shown(at, 4, 80);
	assert_true(at[0].hidden);
	assert_int_equal(at[2].width, 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_limit),
		cmocka_unit_test(test_key_and_number_are_left),
		cmocka_unit_test(test_long_name_of_a_number),
		cmocka_unit_test(test_last_text_gives_way_to_a_number),
		cmocka_unit_test(test_fitting_columns_are_unchanged),
		cmocka_unit_test(test_text_columns_shrink_in_turn),
		cmocka_unit_test(test_numbers_are_hidden_instead_of_cut),
		cmocka_unit_test(test_kept_columns_are_hidden_last),
		cmocka_unit_test(test_main_columns_are_left),
		cmocka_unit_test(test_hidden_columns_stay_hidden),
		cmocka_unit_test(test_no_columns_and_no_texts),
		cmocka_unit_test(test_every_width),
	};

	return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
