/* SPDX-License-Identifier: MIT */
/* What threads did in a pause of attar overview, from the time next to it and the counts in it. */
#include "unit.h"

#include <math.h>

#include "profilers/overview/pause_estimate.h"
#include "random.h"

#define MS 1e6

/* A pause of a second, between 100 ms before it and 200 ms after it. */
static const struct pause_thread second = {.length = 1000 * MS, .watched = {100 * MS, 200 * MS}};

static struct pause_row row_of(enum pause_side side, enum pause_time time, double ms)
{
	return (struct pause_row){.side = side, .time = time, .watched = ms * MS};
}

static void check_ms(double ns, double ms)
{
	if (fabs(ns / MS - ms) > 1e-6 * fabs(ms) + 1e-9)
		fail_msg("%g ms, not %g", ns / MS, ms);
}

/* Nothing says when the thread went over from one wait to the other. */
static void test_half_is_as_before(void **state)
{
	struct pause_row rows[] = {row_of(PAUSE_BEFORE, TIME_WAITS, 100),
		row_of(PAUSE_AFTER, TIME_WAITS, 150), row_of(PAUSE_AFTER, TIME_RUNNING, 50)};

	(void)state;
	pause_estimate(&second, rows, 3);
	check_ms(rows[0].estimate, 500);
	check_ms(rows[1].estimate, 375);
	check_ms(rows[2].estimate, 125);
	check_ms(rows[0].doubt, 500);
	check_ms(rows[1].doubt, -375);
	check_ms(rows[2].doubt, -125);
}

/* The same on both sides: the rows of one kind have no doubt together. */
static void test_steady_load(void **state)
{
	struct pause_row rows[] = {row_of(PAUSE_BEFORE, TIME_WAITS, 80),
		row_of(PAUSE_BEFORE, TIME_RUNNING, 20), row_of(PAUSE_AFTER, TIME_WAITS, 160),
		row_of(PAUSE_AFTER, TIME_RUNNING, 40)};

	(void)state;
	pause_estimate(&second, rows, 4);
	check_ms(rows[0].estimate + rows[2].estimate, 800);
	check_ms(rows[1].estimate + rows[3].estimate, 200);
	check_ms(rows[0].doubt + rows[2].doubt, 0);
	check_ms(rows[1].doubt + rows[3].doubt, 0);
}

static void test_one_side(void **state)
{
	struct pause_thread thread = second;
	struct pause_row rows[] = {row_of(PAUSE_BEFORE, TIME_WAITS, 100)},
			 after[] = {row_of(PAUSE_AFTER, TIME_WAITS, 100)};

	(void)state;
	thread.watched[PAUSE_AFTER] = 0;
	pause_estimate(&thread, rows, 1);
	check_ms(rows->estimate, 1000);
	check_ms(rows->doubt, 100);
	thread.has_ended = true; /* nothing tells what it did until then */
	pause_estimate(&thread, rows, 1);
	check_ms(rows->estimate, 1000);
	check_ms(rows->doubt, 500);
	thread = second;
	thread.watched[PAUSE_BEFORE] = 0;
	pause_estimate(&thread, after, 1);
	check_ms(after->estimate, 500);
	pause_estimate(&thread, after, 0);
}

/*
 * Sleeps, and waits for a lock: half of the waits each, in 100 turns a second. In the pause,
 * the thread had half as many turns, so that the sleeps were half as long, or ended by something
 * else: between 400 and 200 of 800 ms.
 */
static void test_sleeps_are_as_long(void **state)
{
	struct pause_thread thread = {.length = 1000 * MS,
		.watched = {1000 * MS, 1000 * MS},
		.turns = {100, 100},
		.is_counted = true,
		.times = {100 * MS, 100 * MS, 800 * MS},
		.counted_turns = 50};
	struct pause_row rows[] = {row_of(PAUSE_BEFORE, TIME_WAITS, 400),
		row_of(PAUSE_BEFORE, TIME_WAITS, 400), row_of(PAUSE_BEFORE, TIME_RUNNING, 200),
		row_of(PAUSE_AFTER, TIME_WAITS, 400), row_of(PAUSE_AFTER, TIME_WAITS, 400),
		row_of(PAUSE_AFTER, TIME_RUNNING, 200)};

	(void)state;
	rows[0].is_timed = rows[3].is_timed = true;
	pause_estimate(&thread, rows, 6);
	check_ms(rows[0].estimate + rows[3].estimate, 250);
	check_ms(rows[1].estimate + rows[4].estimate, 550);
	check_ms(rows[2].estimate + rows[5].estimate, 100);
	check_ms(rows[0].bias + rows[3].bias, -150);
	check_ms(rows[1].bias + rows[4].bias, 150);
	check_ms(rows[2].bias + rows[5].bias, 0);
	thread.counted_turns = 500; /* no more than all waits */
	pause_estimate(&thread, rows, 6);
	check_ms(rows[0].estimate + rows[3].estimate, 700);
	thread.turns[PAUSE_AFTER] = 9; /* too few */
	pause_estimate(&thread, rows, 6);
	check_ms(rows[0].bias, 0);
	thread.is_counted = false;
	pause_estimate(&thread, rows, 6);
	check_ms(rows[0].bias, 0);
	check_ms(rows[0].estimate + rows[3].estimate, 400);
}

/* 1,000 turns a second, then 10. */
static void test_turns_show_the_change(void **state)
{
	static const double parts[] = {0, 0.3, 1};
	struct pause_thread thread = second;
	struct pause_row rows[] = {
		row_of(PAUSE_BEFORE, TIME_WAITS, 100), row_of(PAUSE_AFTER, TIME_WAITS, 200)};

	(void)state;
	thread.is_counted = true;
	thread.times[TIME_WAITS] = thread.length;
	thread.turns[PAUSE_BEFORE] = 100;
	thread.turns[PAUSE_AFTER] = 2;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		thread.counted_turns = 1000 * parts[i] + 10 * (1 - parts[i]);
		pause_estimate(&thread, rows, 2);
		check_ms(rows[0].estimate, 1000 * parts[i]);
		check_ms(rows[1].estimate, 1000 * (1 - parts[i]));
		check_ms(rows[0].doubt, 100);
	}
	thread.counted_turns = 5000; /* more than on each side */
	pause_estimate(&thread, rows, 2);
	check_ms(rows[0].estimate, 1000);
	check_ms(rows[1].estimate, 0);
}

static void test_few_turns_show_nothing(void **state)
{
	struct pause_thread thread = second;
	struct pause_row rows[] = {
		row_of(PAUSE_BEFORE, TIME_WAITS, 100), row_of(PAUSE_AFTER, TIME_WAITS, 200)};

	(void)state;
	thread.is_counted = true;
	thread.times[TIME_WAITS] = thread.length;
	thread.turns[PAUSE_BEFORE] = 8; /* and none: less than three standard deviations */
	thread.counted_turns = 90;
	pause_estimate(&thread, rows, 2);
	check_ms(rows[0].estimate, 500);
	thread.turns[PAUSE_BEFORE] = 10;
	thread.counted_turns = 100;
	pause_estimate(&thread, rows, 2);
	check_ms(rows[0].estimate, 1000);
}

/* It waits for a CPU, then for something else. The counts are exact. */
static void test_times_show_the_change(void **state)
{
	struct pause_thread thread = second;
	struct pause_row rows[] = {row_of(PAUSE_BEFORE, TIME_READY, 75),
		row_of(PAUSE_BEFORE, TIME_WAITS, 25), row_of(PAUSE_AFTER, TIME_WAITS, 200)};

	(void)state;
	thread.is_counted = true;
	thread.times[TIME_READY] = 600 * MS; /* of 800 ms as before */
	thread.times[TIME_WAITS] = 400 * MS;
	pause_estimate(&thread, rows, 3);
	check_ms(rows[0].estimate, 600);
	check_ms(rows[1].estimate, 200);
	check_ms(rows[2].estimate, 200);
	check_ms(rows[0].doubt, 0); /* its sum is known */
}

/* All of the pause was as before it, but for a wait that only follows it. */
static void test_kind_of_the_other_side(void **state)
{
	struct pause_thread thread = second;
	struct pause_row rows[] = {row_of(PAUSE_BEFORE, TIME_RUNNING, 100),
		row_of(PAUSE_AFTER, TIME_RUNNING, 10), row_of(PAUSE_AFTER, TIME_WAITS, 190)};

	(void)state;
	thread.is_counted = true;
	thread.times[TIME_RUNNING] = 999 * MS;
	thread.times[TIME_WAITS] = 1 * MS;
	pause_estimate(&thread, rows, 3);
	check_ms(rows[0].estimate + rows[1].estimate, 999);
	check_ms(rows[2].estimate, 1);
	thread.turns[PAUSE_BEFORE] = 1000;
	thread.counted_turns = 20000; /* more than on each side */
	thread.times[TIME_RUNNING] = 1000 * MS;
	pause_estimate(&thread, rows, 3);
	check_ms(rows[0].estimate, 1000);
	check_ms(rows[1].estimate, 0);
	check_ms(rows[2].estimate, 1);
}

/* Of each kind that was seen, the rows have as much as the kernel counted. */
static void test_sums_are_those_that_were_counted(void **state)
{
	enum { ROWS = 8 };

	(void)state;
	for (size_t round = 0; round < unit_rounds(10000); round++) {
		struct pause_thread thread = second;
		struct pause_row rows[ROWS];
		double sums[TIMES] = {0};
		bool is_seen[TIMES] = {false};

		thread.is_counted = true;
		for (int i = 0; i < TIMES; i++)
			thread.times[i] = (double)random_below(300) * MS;
		thread.turns[PAUSE_BEFORE] = (double)random_below(100);
		thread.turns[PAUSE_AFTER] = (double)random_below(100);
		thread.counted_turns = (double)random_below(1000);
		for (int i = 0; i < ROWS; i++) {
			rows[i] = row_of(random_below(PAUSE_SIDES), random_below(TIMES),
				1 + random_below(10));
			is_seen[rows[i].time] = true;
		}
		pause_estimate(&thread, rows, ROWS);
		for (int i = 0; i < ROWS; i++) {
			assert_true(rows[i].estimate >= 0);
			sums[rows[i].time] += rows[i].estimate;
		}
		for (int i = 0; i < TIMES; i++)
			check_ms(sums[i], is_seen[i] ? thread.times[i] / MS : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_half_is_as_before),
		cmocka_unit_test(test_steady_load), cmocka_unit_test(test_one_side),
		cmocka_unit_test(test_sleeps_are_as_long),
		cmocka_unit_test(test_turns_show_the_change),
		cmocka_unit_test(test_few_turns_show_nothing),
		cmocka_unit_test(test_times_show_the_change),
		cmocka_unit_test(test_kind_of_the_other_side),
		cmocka_unit_test(test_sums_are_those_that_were_counted)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
