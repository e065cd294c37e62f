/* SPDX-License-Identifier: MIT */
/* What doctor says of events that did not arrive: this kernel may deliver all. */
#include "unit.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "doctor/verdicts.h"

static void assert_finding(struct finding *f, bool is_degraded, const char *detail)
{
	assert_string_equal(buf_text(&f->detail), detail);
	assert_int_equal(f->state, is_degraded ? ATTAR_CHECK_DEGRADED : ATTAR_CHECK_READY);
	assert_int_equal(f->remedy.len != 0, is_degraded);
	buf_done(&f->detail);
	buf_done(&f->remedy);
	*f = (struct finding){0};
}

static void test_cpus(void **state)
{
	struct finding f = {0};
	struct verdict_cpu cpus[] = {{.cpu = 0, .is_checked = true}, {.cpu = 1, .is_checked = true},
		{.cpu = 5, .is_checked = true}};

	(void)state;
	verdict_of_cpus(&f, cpus, 3);
	assert_finding(&f, false, "all events counted by the kernel were delivered");
	cpus[1].is_missing = cpus[2].is_missing = true;
	cpus[2].is_checked = false; /* what is missing is known all the same */
	verdict_of_cpus(&f, cpus, 3);
	assert_finding(&f, true,
		"the kernel counts events on idle CPUs but does not deliver them: CPU 1, CPU 5");
	cpus[1].is_blind = true;
	cpus[0].is_checked = false;
	verdict_of_cpus(&f, cpus, 3);
	assert_non_null(strstr(buf_text(&f.remedy), "reboot"));
	assert_finding(&f, true,
		"the kernel does not count switches from the idle task: CPU 1; "
		"the kernel counts events on idle CPUs but does not deliver them: CPU 1, CPU 5; "
		"not checked, because busy: CPU 0");
}

static void test_sleeps(void **state)
{
	struct finding f = {0};
	struct verdict_slept slept[] = {
		{.cpu = 0, .sleeps = 50, .out = 50, .in = 48, .woken = 46}, /* within a tenth */
		{.cpu = 3, .sleeps = 50, .out = 50, .in = 2, .woken = 44},
	};
	const struct verdict_tasks tasks = {.slept = slept, .n_slept = 2};

	(void)state;
	verdict_of_tasks(&f, &tasks);
	assert_finding(&f, true,
		"of 50 sleeps on CPU 3, 44 wakeups, 2 switches to the task and 50 from it were "
		"delivered");
	slept[1].in = slept[1].woken = 45;
	verdict_of_tasks(&f, &tasks);
	assert_finding(&f, false, "all switches of 0 tasks were delivered");
	slept[1].out = 44;
	verdict_of_tasks(&f, &tasks);
	assert_finding(&f, true,
		"of 50 sleeps on CPU 3, 45 wakeups, 45 switches to the task and 44 from it were "
		"delivered");
	/* of a few, two may be cut by the beginning and the end */
	slept[1] = (struct verdict_slept){.sleeps = 4, .out = 2, .in = 2, .woken = 2};
	verdict_of_tasks(&f, &tasks);
	assert_finding(&f, false, "all switches of 0 tasks were delivered");
}

static void test_tasks(void **state)
{
	enum { TASKS = 12 };
	struct finding f = {0};
	struct verdict_leaver leavers[TASKS] = {
		{.tid = 0, .by_out = 100}, /* idle tasks */
		{.tid = -1, .by_in = 100}, /* tasks that have exited */
		{.tid = getpid(), .by_out = 10, .by_in = 8, .samples = 5},
		{.tid = getpid(), .by_out = 10, .samples = 6},
		{.tid = getpid(), .by_out = 4},
	};
	char expected[128], comm[17] = "";

	(void)state;
	prctl(PR_GET_NAME, comm); /* of qemu, if it runs this program */
	verdict_of_tasks(&f, &(struct verdict_tasks){.leavers = leavers, .n_leavers = 5});
	snprintf(expected, sizeof(expected),
		"switches from tasks that were not delivered: 5 of 10 from %s (%d)", comm,
		(int)getpid());
	assert_finding(&f, true, expected);
	for (int i = 0; i < TASKS; i++)
		leavers[i] = (struct verdict_leaver){.tid = INT32_MAX, .by_in = 9};
	verdict_of_tasks(&f, &(struct verdict_tasks){.leavers = leavers, .n_leavers = TASKS});
	assert_non_null(strstr(buf_text(&f.detail),
		"not delivered: 9 of 9 from a task that has exited (2147483647), "));
	assert_string_equal(buf_text(&f.detail) + f.detail.len - strlen(" and 4 more tasks"),
		" and 4 more tasks");
	buf_done(&f.detail);
	buf_done(&f.remedy);
}

static void test_lost(void **state)
{
	const struct verdict_slept slept = {.sleeps = 50};
	struct finding f = {0};

	(void)state;
	verdict_of_tasks(&f, &(struct verdict_tasks){.slept = &slept, .n_slept = 1, .lost = 1});
	assert_finding(&f, true, "not checked, because the kernel lost events");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_sleeps),
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
