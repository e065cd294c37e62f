/* SPDX-License-Identifier: MIT */
/*
 * Branch records of a sample, from entries as the kernel writes them: CPUs that record branches
 * are rare, so it is linked with the objects of the library.
 */
#include "attar/sample.h"
#include "kperf_test.h"
#include "task.h"

static void records_of_a_sample(void **state)
{
	const struct perf_branch_entry entries[] = {
		{.from = 0x401000, .to = 0x402000, .mispred = 1, .cycles = 35},
		{.from = 0xffff88f60aa0, .to = 0xffff88f60618, .predicted = 1, .cycles = 1},
		{.from = 0x40065c, .to = 0xffffffff88f60b00},
	};
	const struct attar_sample sample = {.branches = entries, .branch_nr = 3};
	struct kp_origin *origin = kp_origin_new(NULL);
	struct kp_list *list = kp_list_new(origin);
	const struct BranchSampleRecord *records;
	struct PmuDataExt *ext;

	assert_int_equal(kp_sample_branches(list, &sample, &ext), 0);
	assert_int_equal(ext->nr, 3);
	records = ext->branchRecords;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(records[i].fromAddr, entries[i].from);
		assert_int_equal(records[i].toAddr, entries[i].to);
		assert_int_equal(records[i].cycles, entries[i].cycles);
		assert_int_equal(records[i].misPred, i == 0);
		assert_int_equal(records[i].predicted, i == 1);
	}
	kp_list_free(list);
	kp_origin_unref(origin);
}

/* A sample that was taken before any branch. */
static void no_records(void **state)
{
	const struct perf_branch_entry none;
	const struct attar_sample sample = {.branches = &none, .branch_nr = 0};
	struct kp_origin *origin = kp_origin_new(NULL);
	struct kp_list *list = kp_list_new(origin);
	struct PmuDataExt *ext;

	assert_int_equal(kp_sample_branches(list, &sample, &ext), 0);
	assert_int_equal(ext->nr, 0);
	kp_list_free(list);
	kp_origin_unref(origin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_a_sample),
		cmocka_unit_test(no_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
