/* SPDX-License-Identifier: MIT */
/* Ratios of counts, and means over several runs. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "profilers/lib/ratios.h"
#include "sections/count_table.h"

#define SPEC(name_, type_, config_)                                                                \
	{                                                                                          \
		.name = (name_), .type = (type_), .config = (config_), .scale = 1, .unit = ""      \
	}

static const struct attar_event_spec
	clock = SPEC("task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK),
	faults = SPEC("page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS),
	cycles = SPEC("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
	instructions = SPEC("instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS),
	branches = SPEC("branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
	misses = SPEC("branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES),
	loads = SPEC("L1-dcache-loads", PERF_TYPE_HW_CACHE, 0),
	load_misses = SPEC("L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 1 << 16);

static struct ratio_count count_of(const struct attar_event_spec *spec, double value)
{
	return (struct ratio_count){.spec = spec, .value = value, .known = true, .all_code = true};
}

static void check(struct ratio ratio, double value, const char *of)
{
	assert_non_null(ratio.of);
	assert_string_equal(ratio.of, of);
	assert_true(fabs(ratio.value - value) < 1e-9 * fabs(value) + 1e-12);
}

static void test_relates_events(void **state)
{
	const struct ratio_count c[] = {count_of(&clock, 2e9), count_of(&cycles, 6e9),
		count_of(&instructions, 9e9), count_of(&branches, 1e9), count_of(&misses, 2e7),
		count_of(&loads, 4e9), count_of(&load_misses, 1e8), count_of(&faults, 500)};
	size_t n = sizeof(c) / sizeof(c[0]);

	check(ratio_of(c, n, 0, 4000000000), 0.5, "CPUs utilized");
	check(ratio_of(c, n, 1, 4000000000), 3, "GHz");
	check(ratio_of(c, n, 2, 4000000000), 1.5, "instructions per cycle");
	check(ratio_of(c, n, 3, 4000000000), 5e8, "per second of CPU time");
	check(ratio_of(c, n, 4, 4000000000), 2, "% of all branches");
	check(ratio_of(c, n, 6, 4000000000), 2.5, "% of L1 data cache loads");
	check(ratio_of(c, n, 7, 4000000000), 250, "per second of CPU time");
	check(ratio_of(c + 7, 1, 0, 4000000000), 125, "per second");
}

static void test_relates_only_comparable_counts(void **state)
{
	struct attar_event_spec user_cycles = cycles, atom_cycles = cycles;
	struct ratio_count c[] = {count_of(&instructions, 9e9), count_of(&user_cycles, 6e9)};

	user_cycles.exclude_kernel = true;
	check(ratio_of(c, 2, 0, 1000000000), 9e9, "per second");
	atom_cycles.pmu = "cpu_atom";
	c[1].spec = &atom_cycles;
	check(ratio_of(c, 2, 0, 1000000000), 9e9, "per second");
	c[1].spec = &cycles;
	check(ratio_of(c, 2, 0, 1000000000), 1.5, "instructions per cycle");
	c[1].known = false;
	check(ratio_of(c, 2, 0, 1000000000), 9e9, "per second");
	assert_null(ratio_of(c, 2, 1, 1000000000).of);
}

/* Cycles of user code alone give no clock rate. */
static void test_partial_cycles_give_no_clock_rate(void **state)
{
	struct ratio_count c[] = {count_of(&clock, 1e9), count_of(&cycles, 1e9)};

	c[1].all_code = false;
	check(ratio_of(c, 2, 1, 1000000000), 1e9, "per second of CPU time");
}

static void test_never_divides_by_zero(void **state)
{
	const struct ratio_count c[] = {count_of(&clock, 0), count_of(&cycles, 0),
		count_of(&instructions, 0), count_of(&misses, 0), count_of(&branches, 0)};

	for (size_t i = 0; i < 5; i++) {
		assert_true(isfinite(ratio_of(c, 5, i, 0).value));
		assert_true(isfinite(ratio_of(c, 5, i, 1).value));
	}
}

static void test_computes_mean_and_deviation(void **state)
{
	struct attar_series s = {0};

	assert_true(attar_series_deviation(&s) == 0);
	attar_series_add(&s, 1000);
	assert_true(attar_series_deviation(&s) == 0);
	attar_series_add(&s, 2000);
	attar_series_add(&s, 3000);
	assert_true(s.mean == 2000);
	assert_true(fabs(attar_series_deviation(&s) - 50) < 1e-12);
	/* large numbers with small differences: a sum of squares would lose precision */
	s = (struct attar_series){0};
	for (int i = 0; i < 3; i++)
		attar_series_add(&s, 1e15 + i);
	assert_true(fabs(attar_series_deviation(&s) - 100 / 1e15) < 1e-18);
}

static void test_keeps_keys_in_order(void **state)
{
	const int numbers[] = {3, 0, 7, -1, 3, 0};
	struct attar_value one = {.value = 1, .raw = 1, .quality = ATTAR_QUALITY_EXACT};
	struct count_table run = {.n_events = 2}, all = {0};

	for (size_t i = 0; i < 6; i++) {
		struct count_table_key *key = count_table_key(&run, numbers[i]);

		assert_non_null(key);
		attar_value_add(&key->counts[1].sum, &one);
	}
	assert_int_equal(run.keys.n, 4);
	assert_int_equal(run.keys.at[0].number, -1);
	assert_int_equal(run.keys.at[3].number, 7);
	assert_int_equal(run.keys.at[1].counts[1].sum.value, 2);
	assert_int_equal(count_table_merge(&all, &run), 0);
	assert_int_equal(count_table_merge(&all, &run), 0);
	assert_int_equal(all.keys.at[2].counts[1].runs.n, 2);
	assert_true(all.keys.at[2].counts[1].runs.mean == 2);
	assert_int_equal(all.keys.at[2].counts[1].sum.value, 4);
	count_table_done(&run);
	count_table_done(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relates_events),
		cmocka_unit_test(test_relates_only_comparable_counts),
		cmocka_unit_test(test_partial_cycles_give_no_clock_rate),
		cmocka_unit_test(test_never_divides_by_zero),
		cmocka_unit_test(test_computes_mean_and_deviation),
		cmocka_unit_test(test_keeps_keys_in_order),
	};

	return cmocka_run_group_tests_name("ratios", tests, NULL, NULL);
}
