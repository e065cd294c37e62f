/* SPDX-License-Identifier: MIT */
/* The quality of counts: scaling, qualities, differences, sums. */
#include "unit.h"

#include <stdio.h>

#include "attar/private/perf.h"
#include "folder.h"
#include "perf/hybrid.h"
#include "perf/value.h"

static struct attar_value judged(uint64_t raw, uint64_t enabled, uint64_t running, bool elsewhere)
{
	struct attar_value v = {.raw = raw,
		.time_enabled = enabled,
		.time_running = running,
		.elsewhere = elsewhere};

	value_set_quality(&v);
	return v;
}

static void test_scales_in_128_bits(void **state)
{
	assert_int_equal(value_scale(100, 2000, 1000), 200);
	assert_int_equal(value_scale(1, 3, 2), 2); /* 1.5, rounded */
	assert_int_equal(value_scale(0, 3, 2), 0);
	/* a day of 4 GHz at a third of the time: the product needs 97 bits */
	assert_true(
		value_scale(345600000000000, 86400000000000, 28800000000000) == 1036800000000000);
	assert_true(value_scale(UINT64_MAX, 1000, 1000) == UINT64_MAX);
	assert_true(value_scale(UINT64_MAX, 1001, 1000) == UINT64_MAX);
	assert_true(value_scale(UINT64_MAX / 2, UINT64_MAX, UINT64_MAX) == UINT64_MAX / 2);
}

static void test_distinguishes_zero_from_unknown(void **state)
{
	struct attar_value v = judged(0, 0, 0, false);

	assert_int_equal(v.quality, ATTAR_QUALITY_IDLE);
	v = judged(0, 1000000, 1000000, false);
	assert_int_equal(v.quality, ATTAR_QUALITY_EXACT);
	assert_int_equal(v.value, 0);
	v = judged(0, 1000000, 0, false);
	assert_int_equal(v.quality, ATTAR_QUALITY_NOT_COUNTED);
	v = judged(5, 1000000, 500000, false);
	assert_int_equal(v.quality, ATTAR_QUALITY_SCALED);
	assert_int_equal(v.value, 10);
	assert_int_equal(v.raw, 5);
}

static void test_ignores_tiny_time_differences(void **state)
{
	assert_int_equal(judged(7, 1000000000, 999990000, false).quality, ATTAR_QUALITY_EXACT);
	assert_int_equal(judged(7, 1000000000, 999990000, false).value, 7);
	assert_int_equal(judged(7, 1000000000, 999900000, false).quality, ATTAR_QUALITY_SCALED);
	assert_int_equal(judged(7, 100, 100, false).quality, ATTAR_QUALITY_EXACT);
	assert_int_equal(judged(7, 100, 99, false).quality, ATTAR_QUALITY_SCALED);
	/* times taken with two clocks: running may be the larger */
	assert_int_equal(judged(7, 100, 101, false).quality, ATTAR_QUALITY_EXACT);
}

static void test_does_not_scale_time_on_other_cores(void **state)
{
	struct attar_value v = judged(500, 1000, 400, true);

	assert_int_equal(v.quality, ATTAR_QUALITY_PARTIAL);
	assert_int_equal(v.value, 500);
	assert_int_equal(judged(500, 1000, 1000, true).quality, ATTAR_QUALITY_EXACT);
}

static void test_joins_the_parts_of_a_task(void **state)
{
	struct attar_value big = judged(700, 1000, 700, true),
			   little = judged(100, 1000, 300, true),
			   less = judged(100, 1000, 100, true), whole = {0};

	value_join(&whole, &big);
	value_join(&whole, &little);
	assert_int_equal(whole.quality, ATTAR_QUALITY_EXACT);
	assert_int_equal(whole.value, 800);
	assert_int_equal(whole.time_enabled, 1000);

	whole = (struct attar_value){0};
	value_join(&whole, &big);
	value_join(&whole, &less);
	assert_int_equal(whole.quality, ATTAR_QUALITY_SCALED);
	assert_int_equal(whole.value, 1000);
}

static void test_computes_differences(void **state)
{
	struct attar_value before = judged(1000, 10000, 10000, false),
			   now = judged(1600, 30000, 20000, false), v;

	v = attar_value_since(&now, &before);
	assert_int_equal(v.raw, 600);
	assert_int_equal(v.time_enabled, 20000);
	assert_int_equal(v.time_running, 10000);
	assert_int_equal(v.value, 1200);
	assert_int_equal(v.quality, ATTAR_QUALITY_SCALED);
	v = attar_value_since(&before, &before);
	assert_int_equal(v.quality, ATTAR_QUALITY_IDLE);
	/* never below zero, whatever the kernel returns */
	v = attar_value_since(&before, &now);
	assert_int_equal(v.raw, 0);
	assert_int_equal(v.time_enabled, 0);
	value_error(&now);
	v = attar_value_since(&now, &before);
	assert_int_equal(v.quality, ATTAR_QUALITY_ERROR);
	assert_int_equal(v.value, 0);
}

static enum attar_quality sum_of(enum attar_quality a, enum attar_quality b)
{
	struct attar_value sum = {0}, x = {.quality = a}, y = {.quality = b};

	attar_value_add(&sum, &x);
	attar_value_add(&sum, &y);
	return sum.quality;
}

static void test_sums_have_their_worst_quality(void **state)
{
	struct attar_value a = judged(10, 1000, 1000, false), b = judged(10, 1000, 250, false),
			   sum = {0};

	attar_value_add(&sum, &a);
	assert_int_equal(sum.quality, ATTAR_QUALITY_EXACT);
	attar_value_add(&sum, &b);
	assert_int_equal(sum.quality, ATTAR_QUALITY_SCALED);
	assert_int_equal(sum.value, 50);
	assert_int_equal(sum.raw, 20);
	assert_int_equal(sum_of(ATTAR_QUALITY_IDLE, ATTAR_QUALITY_EXACT), ATTAR_QUALITY_EXACT);
	assert_int_equal(sum_of(ATTAR_QUALITY_IDLE, ATTAR_QUALITY_IDLE), ATTAR_QUALITY_IDLE);
	assert_int_equal(
		sum_of(ATTAR_QUALITY_IDLE, ATTAR_QUALITY_NOT_COUNTED), ATTAR_QUALITY_NOT_COUNTED);
	assert_int_equal(
		sum_of(ATTAR_QUALITY_EXACT, ATTAR_QUALITY_NOT_COUNTED), ATTAR_QUALITY_PARTIAL);
	assert_int_equal(sum_of(ATTAR_QUALITY_ERROR, ATTAR_QUALITY_SCALED), ATTAR_QUALITY_PARTIAL);
	assert_int_equal(
		sum_of(ATTAR_QUALITY_ERROR, ATTAR_QUALITY_NOT_COUNTED), ATTAR_QUALITY_ERROR);
	b.value = UINT64_MAX;
	attar_value_add(&sum, &b);
	assert_true(sum.value == UINT64_MAX);
}

/* ---- kinds of cores, from a simulated sysfs ---- */

static void read_cores(struct cores *cores, const char *folder)
{
	char online[256];

	folder_line("cpu_list/online", "0-11");
	snprintf(online, sizeof(online), "%s/cpu_list/online", folder);
	hybrid_read(cores, folder, online);
}

static void test_finds_kinds_of_cores(void **state)
{
	const char *folder = folder_make();
	struct cores cores;

	folder_line("cpu/type", "4");
	read_cores(&cores, folder);
	assert_int_equal(cores.n, 0);
	assert_false(hybrid_has(&cores, PERF_TYPE_HARDWARE, 0));

	folder_line("cpu_core/type", "4");
	folder_line("cpu_core/cpus", "0-7");
	folder_line("cpu_atom/type", "10");
	folder_line("cpu_atom/cpus", "8-11");
	folder_line("uncore_imc/type", "11");
	folder_line("uncore_imc/cpumask", "0");
	folder_line("all/type", "12");
	folder_line("all/cpus", "0-11");
	read_cores(&cores, folder);
	assert_int_equal(cores.n, 2);
	assert_true(hybrid_has(&cores, PERF_TYPE_HARDWARE, 0));
	assert_true(hybrid_has(&cores, PERF_TYPE_HARDWARE, 10ULL << 32));
	assert_true(hybrid_has(&cores, 10, 0x3c));
	assert_false(hybrid_has(&cores, 11, 0));
	assert_false(hybrid_has(&cores, PERF_TYPE_SOFTWARE, 0));
	assert_false(hybrid_has(&cores, PERF_TYPE_HARDWARE, 12ULL << 32));
	folder_remove();
}

static bool is_clock(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = type, .config = config, .sample_period = 1, .exclude_kernel = 1};

	return attar_attr_is_clock(&attr);
}

static void test_finds_the_software_clocks(void **state)
{
	assert_true(is_clock(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK));
	assert_true(is_clock(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK));
	assert_false(is_clock(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS));
	assert_false(is_clock(PERF_TYPE_HARDWARE, PERF_COUNT_SW_TASK_CLOCK));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scales_in_128_bits),
		cmocka_unit_test(test_distinguishes_zero_from_unknown),
		cmocka_unit_test(test_ignores_tiny_time_differences),
		cmocka_unit_test(test_does_not_scale_time_on_other_cores),
		cmocka_unit_test(test_joins_the_parts_of_a_task),
		cmocka_unit_test(test_computes_differences),
		cmocka_unit_test(test_sums_have_their_worst_quality),
		cmocka_unit_test(test_finds_kinds_of_cores),
		cmocka_unit_test(test_finds_the_software_clocks),
	};

	return cmocka_run_group_tests_name("perf_value", tests, NULL, NULL);
}
