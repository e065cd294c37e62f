/* SPDX-License-Identifier: MIT */
/* The results of doctor_check_system() are about this process, and complete. */
#include "live.h"

#include "attar/private/doctor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct seen {
	size_t n, stop_at;
	enum attar_check_state perf, tracefs;
};

static int see(void *ctx, const struct attar_check *check)
{
	struct seen *seen = ctx;

	assert_true(*check->name && *check->gives);
	/* What is missing has a fix. */
	assert_int_equal(!*check->remedy, check->state == ATTAR_CHECK_READY);
	if (!strcmp(check->name, "perf events"))
		seen->perf = check->state;
	if (!strcmp(check->name, "tracefs"))
		seen->tracefs = check->state;
	return ++seen->n == seen->stop_at ? 23 : 0;
}

static void test_states_are_those_of_this_process(void **state)
{
	struct seen seen = {.perf = -1, .tracefs = -1};
	struct attar_target *target = live_self();
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1,
		.exclude_hv = 1};
	struct attar_counter *counter = NULL;
	int opened = attar_counter_open(target, &attr, "task-clock", 0, &counter);

	assert_int_equal(doctor_check_system(see, &seen), 0);
	assert_true(seen.n > 15);
	assert_int_equal(seen.perf == ATTAR_CHECK_READY, opened == 0);
	if (access("/sys/kernel/tracing/events/sched", R_OK) == 0)
		assert_int_equal(seen.tracefs, ATTAR_CHECK_READY);
	attar_counter_close(counter);
	attar_target_free(target);
}

static void test_result_of_the_callback_is_returned(void **state)
{
	struct seen seen = {.stop_at = 3};

	assert_int_equal(doctor_check_system(see, &seen), 23);
	assert_int_equal(seen.n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states_are_those_of_this_process),
		cmocka_unit_test(test_result_of_the_callback_is_returned),
	};

	return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
