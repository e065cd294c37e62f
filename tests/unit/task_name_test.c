/* SPDX-License-Identifier: MIT */
/* Names of tasks without what /proc adds to those of kernel threads. */
#include "unit.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "stream/task_name.h"

static void is_named(const char *shown, uint64_t flags, const char *name)
{
	char own[64];

	snprintf(own, sizeof(own), "%.*s", (int)task_name_length(shown, flags), shown);
	assert_string_equal(own, name);
}

static void test_kernel_workers(void **state)
{
	const uint64_t worker = TASK_NAME_WORKER | TASK_NAME_KERNEL_THREAD;

	is_named("kworker/0:1", worker, "kworker/0:1");
	is_named("kworker/0:1-events_power_efficient", worker, "kworker/0:1");
	is_named("kworker/0:1+events", worker, "kworker/0:1");
	is_named("kworker/3:1H-kblockd", worker, "kworker/3:1H");
	is_named("kworker/u8:0-ext4-rsv-conversion", worker, "kworker/u8:0");
	is_named("kworker/R-rcu_gp", worker, "kworker/R-rcu_g");
	is_named("kworker/R-kvfree_rcu_reclaim", worker, "kworker/R-kvfre");
	is_named("kworker/R-md+md", worker, "kworker/R-md");
	is_named("btrfs-worker+btrfs-worker", worker, "btrfs-worker");
}

static void test_other_kernel_threads(void **state)
{
	is_named("irq/24-aerdrv", TASK_NAME_KERNEL_THREAD, "irq/24-aerdrv");
	is_named("rcu_tasks_trace_kthread", TASK_NAME_KERNEL_THREAD, "rcu_tasks_trace");
}

static void test_processes_keep_their_names(void **state)
{
	is_named("kworker/0:1-me", 0, "kworker/0:1-me");
	is_named("g++-12", 0, "g++-12");
}

static void test_name_of_this_process(void **state)
{
	static const char *const names[] = {"plain", "kworker/0:1-me", "a-b+c", "new\nline", "-"};
	struct buf b _cleanup_(buf_done) = {0};
	struct task_facts facts;
	uint64_t started = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
		assert_int_equal(task_name_read(getpid(), getpid(), &b, &facts), 0);
		assert_string_equal(buf_text(&b), names[i]);
		assert_int_equal(facts.parent, getppid());
		assert_false(facts.is_kernel);
		assert_true(facts.started && (!started || facts.started == started));
		started = facts.started;
		assert_int_equal(task_name_read(0, getpid(), &b, NULL), 0);
		assert_string_equal(buf_text(&b), names[i]);
	}
	assert_true(task_name_read(0, 1 << 30, &b, NULL) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_workers),
		cmocka_unit_test(test_other_kernel_threads),
		cmocka_unit_test(test_processes_keep_their_names),
		cmocka_unit_test(test_name_of_this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
