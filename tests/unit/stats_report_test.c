/* SPDX-License-Identifier: MIT */
/* What reports show of histograms, tables and pairs. */
#include "unit.h"

#include <string.h>

#include "attar/private/hist.h"
#include "attar/sections.h"

static void expect_u64(const struct attar_section *s, size_t row, size_t column, uint64_t value)
{
	struct attar_cell cell = attar_section_get_cell(s, row, column);

	assert_int_equal(cell.kind, ATTAR_CELL_U64);
	assert_int_equal(cell.u64, value);
}

/* 1 to 100 ns, and an empty histogram. */
static void test_columns_of_a_table(void **state)
{
	static const char *const names[] = {
		"key", "count", "total", "min", "p50", "p95", "p99", "max"};
	const uint64_t values[] = {100, 5050, 1, 50, 95, 99, 100};
	struct attar_report *report = attar_report_new("test");
	struct attar_section *s = attar_report_table(report, "calls");
	struct attar_hist hist = {0}, none = {0};
	enum attar_unit unit;

	for (uint64_t i = 1; i <= 100; i++)
		attar_hist_add(&hist, i);
	attar_section_column(s, "key", ATTAR_UNIT_TEXT);
	attar_section_hist_columns(s, ATTAR_UNIT_NS);
	attar_section_row(s);
	attar_cell_text(s, "a");
	attar_cell_hist(s, &hist);
	attar_section_row(s);
	attar_cell_text(s, "b");
	attar_cell_hist(s, &none);
	assert_int_equal(attar_section_get_columns(s), 8);
	for (size_t i = 0; i < 8; i++) {
		assert_string_equal(attar_section_get_column(s, i, &unit), names[i]);
		assert_int_equal(unit, i == 0   ? ATTAR_UNIT_TEXT
				       : i == 1 ? ATTAR_UNIT_COUNT
						: ATTAR_UNIT_NS);
	}
	for (size_t i = 0; i < 7; i++)
		expect_u64(s, 0, i + 1, values[i]);
	expect_u64(s, 1, 1, 0);
	expect_u64(s, 1, 2, 0);
	for (size_t i = 3; i < 8; i++)
		assert_int_equal(attar_section_get_cell(s, 1, i).kind, ATTAR_CELL_NONE);
	attar_hist_done(&hist);
	attar_report_free(report);
}

static void test_section_of_a_histogram(void **state)
{
	struct attar_report *report = attar_report_new("test");
	struct attar_hist hist = {0};
	const struct attar_section *s;
	struct attar_summary summary;
	double share, value;

	hist_add_n(&hist, 3, 10);
	attar_hist_add(&hist, 20);
	s = attar_report_hist(report, "latency", ATTAR_UNIT_NS, &hist);
	assert_int_equal(attar_section_get_kind(s), ATTAR_SECTION_HISTOGRAM);
	assert_int_equal(attar_section_get_unit(s), ATTAR_UNIT_NS);
	assert_int_equal(attar_section_get_rows(s), 4); /* 2..3, 4..7, 8..15, 16..31 */
	assert_true(attar_cell_get_double(attar_section_get_cell(s, 0, 0)) == 2);
	assert_true(attar_cell_get_double(attar_section_get_cell(s, 3, 1)) == 32);
	expect_u64(s, 0, 2, 10);
	expect_u64(s, 1, 2, 0);
	expect_u64(s, 3, 2, 1);
	assert_int_equal(attar_histogram_get_summary(s, &summary), 0);
	assert_int_equal(summary.count, 11);
	assert_true(summary.sum == 50 && summary.min == 3 && summary.max == 20);
	assert_int_equal(attar_histogram_get_quantile(s, 2, &share, &value), 0);
	assert_true(share == 0.99 && value == 20);
	attar_hist_done(&hist);
	assert_int_equal(attar_section_get_rows(attar_report_hist(report, "x", 0, &hist)), 0);
	attar_report_free(report);
}

static void test_remarks(void **state)
{
	struct attar_keytable_opts opts = {.size = sizeof(opts), .keys_max = 8};
	struct attar_report *report = attar_report_new("test");
	struct attar_pairs_stats stats = {0};
	struct attar_keytable *table;

	assert_int_equal(attar_keytable_new(&opts, &table), 0);
	attar_report_unpaired(report, &stats, "requests");
	attar_report_evicted(report, table, "threads");
	assert_null(attar_report_get_remark(report, 0));
	stats.unpaired[ATTAR_UNPAIRED_REPLACED] = 3;
	stats.unpaired[ATTAR_UNPAIRED_LOST] = 4;
	stats.unpaired[ATTAR_UNPAIRED_END] = 5;
	attar_report_unpaired(report, &stats, "requests");
	for (uint64_t key = 0; key < 9; key++)
		assert_non_null(attar_keytable_at_u64(table, key));
	attar_report_evicted(report, table, "threads");
	assert_string_equal(attar_report_get_remark(report, 0),
		"7 starts of requests are not part of a pair: 3 replaced by a newer start, 4 open "
		"while events were lost");
	assert_string_equal(attar_report_get_remark(report, 1),
		"5 ends of requests are not part of a pair: 5 no start");
	assert_string_equal(attar_report_get_remark(report, 2),
		"the table of threads is full: 2 with small values were added to one row for all "
		"others");
	attar_keytable_free(table);
	attar_report_free(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_of_a_table),
		cmocka_unit_test(test_section_of_a_histogram),
		cmocka_unit_test(test_remarks),
	};

	return cmocka_run_group_tests_name("stats_report", tests, NULL, NULL);
}
