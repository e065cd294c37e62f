/* SPDX-License-Identifier: MIT */
/* The size of rings, and when they are read. */
#include "unit.h"

#include "run/record/recorder.h"
#include "run/rings.h"

enum { KIB = 1024, MIB = 1024 * KIB };

static int start(void **state)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .cpus = "0"};
	struct attar_run *run;

	if (attar_run_new("profile", &run) < 0)
		return -1;
	*state = run;
	return attar_symbols_new(NULL, &run->symbols) < 0 ? -1
							   : attar_target_new(&opts, &run->target);
}

static int stop(void **state)
{
	attar_run_free(*state);
	return 0;
}

static void set(struct attar_run *run, const char *option, const char *value)
{
	assert_int_equal(attar_run_set(run, option, value), 0);
	assert_int_equal(PARTS_CALL(run, prepare), 0);
}

static void are_read(struct attar_run *run, uint64_t pages, uint32_t watermark, int wait_ms)
{
	assert_int_equal(rings_choose(run), 0);
	assert_int_equal(rings_of(run)->pages, pages);
	assert_int_equal(rings_of(run)->watermark, watermark);
	assert_int_equal(rings_of(run)->wait_ms, wait_ms);
}

static void test_without_copies_of_stacks(void **state)
{
	are_read(*state, 128, 128 * KIB, 100);
	set(*state, "unwind", "fp");
	are_read(*state, 128, 128 * KIB, 100);
}

/* 3.2 MiB have 377 samples of 8.9 KB: those of one CPU in 378 ms at 997 Hz. */
static void test_copies_of_stacks(void **state)
{
	set(*state, "unwind", "dwarf");
	are_read(*state, 2048, 8 * MIB * 2 / 5, 400);
}

static void test_options(void **state)
{
	set(*state, "unwind", "dwarf");
	set(*state, "watermark", "12.5");
	are_read(*state, 2048, 1 * MIB, 400);
	set(*state, "mmap-pages", "64");
	are_read(*state, 64, 32 * KIB, 400);
}

/* Small rings keep more room for the samples that arrive meanwhile. */
static void test_small_rings(void **state)
{
	set(*state, "unwind", "dwarf");
	set(*state, "mmap-pages", "64");
	are_read(*state, 64, 64 * KIB, 400);
}

/* A recording has the events soon, and so does the other side. */
static void test_events_of_others(void **state)
{
	struct attar_run *run = *state;

	set(run, "unwind", "dwarf");
	recorder_of(run)->is_on = true;
	are_read(run, 2048, 2 * MIB, 100);
	recorder_of(run)->is_on = false;
	run->opts.push = "1234";
	are_read(run, 2048, 2 * MIB, 100);
	run->opts.push = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_copies_of_stacks),
		TEST(copies_of_stacks),
		TEST(options),
		TEST(small_rings),
		TEST(events_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
