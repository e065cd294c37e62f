/* SPDX-License-Identifier: MIT */
/* Groups of the running kernel's software events, tracepoints and breakpoints. */
#include "live.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attar/private/perf.h"
#include "perf/counter.h"

static const struct perf_event_attr task_clock = {
	.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .disabled = 1};
/* Siblings as they are often written: disabled too. They must count nevertheless. */
static const struct perf_event_attr faults = {
	.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .disabled = 1};

static size_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void read_group(struct attar_group *g, struct attar_value *values)
{
	if (attar_group_read(g, values) < 0)
		fail_msg("%s", attar_error());
}

/* A disabled group returns the same values in both ways, with the worst of their qualities. */
static void check_values(struct attar_group *g, const struct attar_value *values, size_t n)
{
	uint64_t alone[16];
	int worst = 0;

	for (size_t i = 0; i < n; i++)
		worst = MAX(worst, (int)values[i].quality);
	assert_int_equal(group_values(g, alone), worst);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(alone[i], values[i].value);
}

/*
 * One of each PMU: software, tracepoint, breakpoint. The kernel enables only siblings of the
 * leader's PMU with it.
 */
static void test_siblings_of_other_pmus_count(void **state)
{
	static volatile long watched;
	struct attar_target *target = live_self();
	const struct perf_event_attr calls = live_sys_enter();
	const struct perf_event_attr writes = {.type = PERF_TYPE_BREAKPOINT,
		.bp_type = 2, /* HW_BREAKPOINT_W */
		.bp_addr = (uintptr_t)&watched,
		.bp_len = sizeof(watched),
		.exclude_kernel = 1,
		.disabled = 1};
	const struct attar_group_event events[] = {{"task-clock", &task_clock},
		{"page-faults", &faults}, {"sys_enter", &calls}, {"writes", &writes}};
	struct attar_value v[4];
	struct attar_group *g;

	live_need_root("open tracepoints");
	live_need_breakpoints();
	if (attar_group_open(target, events, 4, 0, &g) < 0)
		fail_msg("%s", attar_error());
	assert_int_equal(attar_counter_filter(attar_group_counter(g, 2), live_getppid_filter), 0);
	live_fault(1);
	assert_int_equal(attar_group_enable(g), 0);
	live_fault(100);
	live_getppid(23);
	for (int i = 0; i < 17; i++)
		watched = i;
	assert_int_equal(attar_group_disable(g), 0);
	read_group(g, v);
	assert_true(v[0].value > 0);
	assert_int_equal(v[1].value, 100);
	assert_int_equal(v[2].value, 23);
	assert_int_equal(v[3].value, 17);
	check_values(g, v, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(v[i].quality, ATTAR_QUALITY_EXACT);
		assert_int_equal(v[i].time_enabled, v[0].time_enabled);
	}
	/* reading a sibling returns the whole group, of which it uses its own part */
	assert_int_equal(attar_counter_read(attar_group_counter(g, 2), &v[0]), 0);
	assert_int_equal(v[0].value, 23);
	assert_null(attar_group_counter(g, 4));
	attar_group_close(g);
	attar_target_free(target);
}

static void test_open_is_all_or_nothing(void **state)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true};
	const struct perf_event_attr missing = {.type = PERF_TYPE_SOFTWARE, .config = 4711};
	const struct attar_group_event events[] = {
		{"task-clock", &task_clock}, {"page-faults", &faults}, {"nonsense", &missing}};
	struct attar_target *target = live_self();
	struct attar_group *g = NULL;
	size_t before;

	attar_target_free(target);
	assert_int_equal(attar_target_new(&opts, &target), 0);
	before = open_files();
	assert_true(attar_group_open(target, events, 3, 0, &g) < 0);
	assert_non_null(strstr(attar_error(), "'nonsense'"));
	assert_null(g);
	assert_int_equal(open_files(), before);
	attar_target_free(target);
}

static void test_names_options_of_leaders_only(void **state)
{
	struct attar_target *target = live_self();
	struct perf_event_attr sibling = faults;
	struct attar_group_event events[] = {
		{"task-clock", &task_clock}, {"page-faults", &sibling}};
	struct attar_group *g;

	sibling.pinned = 1;
	assert_int_equal(attar_group_open(target, events, 2, 0, &g), -EINVAL);
	assert_string_equal(attar_error(), "'page-faults' cannot be pinned: only the leader of its "
					   "group, 'task-clock', can");
	sibling.pinned = 0;
	sibling.exclusive = 1;
	assert_int_equal(attar_group_open(target, events, 2, 0, &g), -EINVAL);
	assert_non_null(strstr(attar_error(), "cannot be exclusive"));
	sibling.exclusive = 0;
	sibling.use_clockid = 1;
	assert_int_equal(attar_group_open(target, events, 2, 0, &g), -EINVAL);
	assert_non_null(strstr(attar_error(), "different clocks"));
	assert_int_equal(attar_group_open(target, events, 0, 0, &g), -EINVAL);
	attar_target_free(target);
}

static void test_resets_all_members(void **state)
{
	struct attar_target *target = live_self();
	const struct attar_group_event events[] = {
		{"task-clock", &task_clock}, {"page-faults", &faults}};
	struct attar_value v[2];
	struct attar_group *g;

	assert_int_equal(attar_group_open(target, events, 2, 0, &g), 0);
	attar_group_enable(g);
	live_fault(50);
	attar_group_disable(g);
	assert_int_equal(attar_group_reset(g), 0);
	read_group(g, v);
	assert_int_equal(v[0].value, 0);
	assert_int_equal(v[1].value, 0);
	assert_int_equal(v[1].time_enabled, 0);
	check_values(g, v, 2);
	attar_group_enable(g);
	live_fault(7);
	attar_group_disable(g);
	read_group(g, v);
	assert_int_equal(v[1].value, 7);
	check_values(g, v, 2);
	attar_group_close(g);
	attar_target_free(target);
}

/*
 * Other code may add members to our leader: then read() returns more than expected, and IDs
 * identify the values.
 */
static void test_finds_its_values_among_foreign_members(void **state)
{
	enum { STRANGERS = 40 };
	struct attar_target *target = live_self();
	const struct attar_group_event events[] = {
		{"task-clock", &task_clock}, {"page-faults", &faults}};
	struct perf_event_attr dummy = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = PERF_ATTR_SIZE_VER0,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING};
	int fds[STRANGERS], leader;
	struct attar_value v[2];
	struct attar_group *g;

	assert_int_equal(attar_group_open(target, events, 2, 0, &g), 0);
	leader = attar_counter_instance_at(attar_group_counter(g, 0), 0).fd;
	for (int i = 0; i < STRANGERS; i++) {
		fds[i] = (int)syscall(SYS_perf_event_open, &dummy, 0, -1, leader, 0);
		assert_true(fds[i] >= 0);
	}
	live_fault(1);
	attar_group_enable(g);
	live_fault(31);
	attar_group_disable(g);
	read_group(g, v);
	assert_int_equal(v[1].value, 31);
	assert_int_equal(v[1].quality, ATTAR_QUALITY_EXACT);
	check_values(g, v, 2);
	for (int i = 0; i < STRANGERS; i++)
		close(fds[i]);
	attar_group_close(g);
	attar_target_free(target);
}

/* Counted by the kernel itself: the read(2) calls of this thread. */
static void test_reads_eight_counters_with_one_system_call(void **state)
{
	struct attar_target *target = live_self();
	struct perf_event_attr calls = live_sys_enter();
	struct attar_group_event events[8] = {{"task-clock", &task_clock}};
	struct attar_value v[8], before, after;
	uint64_t alone[8];
	struct attar_counter *reads;
	struct attar_group *g;

	live_need_root("open tracepoints");
	for (int i = 1; i < 8; i++)
		events[i] = (struct attar_group_event){"page-faults", &faults};
	assert_int_equal(attar_group_open(target, events, 8, 0, &g), 0);
	calls.disabled = 0;
	assert_int_equal(attar_counter_open(target, &calls, "read calls", 0, &reads), 0);
	assert_int_equal(attar_counter_filter(reads,
				 sizeof(long) == 8 && SYS_read == 0 ? "id == 0" : "id == 63"),
		0);
	attar_counter_read(reads, &before);
	for (int i = 0; i < 10; i++)
		read_group(g, v);
	for (int i = 0; i < 10; i++)
		assert_true(group_values(g, alone) >= 0);
	attar_counter_read(reads, &after);
	assert_int_equal(
		after.value - before.value, 20 + 1); /* and the read of the counter itself */
	attar_counter_close(reads);
	attar_group_close(g);
	attar_target_free(target);
}

/* On every CPU: each instance is a separate group, and the values are the sums of all. */
static void test_sums_groups_over_cpus(void **state)
{
	struct attar_target_opts opts = {.size = sizeof(opts)};
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1};
	const struct attar_group_event events[] = {{"cpu-clock", &clock}, {"page-faults", &faults}};
	struct attar_target *target;
	struct attar_value sum[2], one[2], total = {0};
	struct attar_group *g;

	live_need_root("watch all CPUs");
	assert_int_equal(attar_target_new(&opts, &target), 0);
	if (attar_group_open(target, events, 2, 0, &g) < 0)
		fail_msg("%s", attar_error());
	attar_group_enable(g);
	live_fault(200);
	attar_group_disable(g);
	read_group(g, sum);
	for (size_t i = 0; i < attar_counter_instances(attar_group_counter(g, 0)); i++) {
		assert_int_equal(attar_group_read_at(g, i, one), 0);
		attar_value_add(&total, &one[1]);
	}
	assert_true(sum[1].value >= 200);
	assert_int_equal(sum[1].value, total.value);
	assert_int_equal(sum[1].time_enabled, total.time_enabled);
	check_values(g, sum, 2);
	attar_group_close(g);
	attar_target_free(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_siblings_of_other_pmus_count),
		cmocka_unit_test(test_open_is_all_or_nothing),
		cmocka_unit_test(test_names_options_of_leaders_only),
		cmocka_unit_test(test_resets_all_members),
		cmocka_unit_test(test_finds_its_values_among_foreign_members),
		cmocka_unit_test(test_reads_eight_counters_with_one_system_call),
		cmocka_unit_test(test_sums_groups_over_cpus),
	};

	return cmocka_run_group_tests_name("perf_group", tests, NULL, NULL);
}
