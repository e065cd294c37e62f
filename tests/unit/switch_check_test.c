/* SPDX-License-Identifier: MIT */
/* Switches that were not delivered are counted for each CPU; losses and other records are not. */
#include "unit.h"

#include "run/parts.h"
#include "run/run.h"
#include "run/switch_check.h"

enum { CPUS = 2 };

static struct switch_cpu cpus[CPUS];
static struct switch_check check;
static struct attar_run run = {.select.keeps_own = true};

static int begin(void **state)
{
	check = (struct switch_check){.cpus = cpus, .n_cpus = CPUS, .prev = 8, .next = 16};
	memset(cpus, 0, sizeof(cpus));
	part_switch_check.toggled(&run, &check, check.source, true);
	return 0;
}

static void switched(uint32_t cpu, int prev, int next, uint32_t raw_size)
{
	int raw[5] = {0, 0, prev, 0, next};
	struct attar_record record = {
		.type = PERF_RECORD_SAMPLE, .sample = {.raw = raw, .raw_size = raw_size}};
	struct attar_event ev = {.record = &record, .cpu = cpu};

	assert_int_equal(part_switch_check.sample(&run, &check, &ev), 0);
}

static void record(struct attar_record record, uint32_t cpu)
{
	struct attar_event ev = {.record = &record, .cpu = cpu};

	assert_int_equal(part_switch_check.record(&run, &check, &ev), 0);
}

static void see(uint32_t cpu, int prev, int next)
{
	switched(cpu, prev, next, 5 * sizeof(int));
}

static void missing_are(uint64_t first, uint64_t second)
{
	assert_int_equal(cpus[0].missing, first);
	assert_int_equal(cpus[1].missing, second);
}

static void test_complete_switches(void **state)
{
	see(0, 1, 2);
	see(1, 7, 0);
	see(0, 2, 0);
	see(1, 0, 7);
	see(0, 0, 1);
	missing_are(0, 0);
}

static void test_missing_switches(void **state)
{
	see(1, 7, 0);
	see(0, 1, 2);
	for (int i = 0; i < 23; i++) /* those from the idle task are missing */
		see(1, 7, 0);
	see(0, 2, 1);
	see(0, 3, 2);
	missing_are(1, 23);
}

static void test_after_a_loss(void **state)
{
	see(0, 1, 2);
	see(1, 1, 2);
	record((struct attar_record){.type = PERF_RECORD_LOST}, 0);
	see(0, 5, 6);
	see(1, 5, 6);
	missing_are(0, 1);
	part_switch_check.toggled(&run, &check, check.source, true);
	see(0, 1, 2);
	see(1, 1, 2);
	missing_are(0, 1);
}

/* Thread 5 takes the tid of its process, 4. The CPU of the second exec has no known task. */
static void test_exec_of_another_thread(void **state)
{
	const struct attar_record exec = {
		.type = PERF_RECORD_COMM, .comm = {.exec = true, .tid = 4}};

	see(0, 1, 5);
	record(exec, 0);
	record(exec, 1);
	record(exec, CPUS);
	see(0, 4, 2);
	see(1, 5, 6);
	missing_are(0, 0);
}

static void test_records_that_do_not_fit(void **state)
{
	see(0, 1, 2);
	see(CPUS, 1, 2);
	see((uint32_t)-1, 1, 2);
	switched(0, 5, 6, 4 * sizeof(int));
	see(0, 2, 1);
	missing_are(0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_complete_switches, begin),
		cmocka_unit_test_setup(test_missing_switches, begin),
		cmocka_unit_test_setup(test_after_a_loss, begin),
		cmocka_unit_test_setup(test_exec_of_another_thread, begin),
		cmocka_unit_test_setup(test_records_that_do_not_fit, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
