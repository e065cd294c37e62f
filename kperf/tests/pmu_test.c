/* SPDX-License-Identifier: MIT */
/* Counters of a CPU: more events than it has, and reading them without system calls. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "kperf_test.h"

enum { MANY = 64, MULTIPLEXED = 12 };

/* Events of this thread that keep their counters: others get none. */
struct full {
	int fds[MANY];
	size_t n;
};

/* -1: no counter is left for it. */
static int pin(uint64_t config)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.pinned = 1,
		.exclude_kernel = 1};
	uint64_t count;
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0 && read(fd, &count, sizeof(count)) == sizeof(count))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Skips the test if the machine has no PMU. */
static void fill(struct full *full)
{
	static const uint64_t configs[] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS};

	full->n = 0;
	for (size_t i = 0; i < 2; i++)
		for (int fd; full->n < MANY && (fd = pin(configs[i])) >= 0;)
			full->fds[full->n++] = fd;
	if (full->n == 0)
		skip();
	assert_true(full->n < MANY);
}

static void empty(struct full *full)
{
	while (full->n > 0)
		close(full->fds[--full->n]);
}

static void user_attr(struct test_attr *test)
{
	test_attr(test, "instructions");
	test->attr.excludeKernel = 1;
}

/* A group that no set of free counters is enough for is an error, and leaves nothing open. */
static void a_group_larger_than_the_pmu(void **state)
{
	struct EvtAttr groups[MANY];
	char *events[MANY];
	struct test_attr test;
	struct full full;
	int before, after;

	fill(&full);
	empty(&full);
	user_attr(&test);
	for (size_t i = 0; i < MANY; i++) {
		events[i] = i % 2 ? "cycles" : "instructions";
		groups[i] = (struct EvtAttr){.groupId = 1};
	}
	test.attr.evtList = events;
	test.attr.evtAttr = groups;
	test.attr.numEvt = test.attr.numEvtAttr = MANY;
	before = dup(0);
	assert_int_equal(PmuOpen(COUNTING, &test.attr), -1);
	assert_int_equal(Perrorno(), LIBPERF_ERR_DEVICE_INVAL);
	assert_non_null(strstr(Perror(), "use a smaller group"));
	after = dup(0);
	assert_int_equal(close(before) + close(after), 0);
	assert_int_equal(after, before + 1);
}

/* Without a group, they take turns: each count is an estimate, close to the others. */
static void more_events_than_counters(void **state)
{
	char *events[MULTIPLEXED];
	struct PmuData *data;
	struct test_attr test;
	struct full full;
	double mean = 0;
	int pd;

	fill(&full);
	empty(&full);
	user_attr(&test);
	for (size_t i = 0; i < MULTIPLEXED; i++)
		events[i] = "instructions";
	test.attr.evtList = events;
	test.attr.numEvt = MULTIPLEXED;
	pd = test_open(COUNTING, &test);
	PmuEnable(pd);
	test_burn(400);
	PmuDisable(pd);
	assert_int_equal(PmuRead(pd, &data), MULTIPLEXED);
	assert_int_equal(GetWarn(), SUCCESS);
	for (size_t i = 0; i < MULTIPLEXED; i++)
		mean += (double)data[i].count / MULTIPLEXED;
	for (size_t i = 0; i < MULTIPLEXED; i++) {
		assert_true(data[i].countPercent > 0 && data[i].countPercent < 1);
		assert_true((double)data[i].count > 0.8 * mean);
		assert_true((double)data[i].count < 1.2 * mean);
	}
	PmuDataFree(data);
	PmuClose(pd);
}

/* The same task once more, after the others have given back their counters. */
static void counts_again(int pd, int n)
{
	struct PmuData *data;

	PmuEnable(pd);
	test_burn(50);
	PmuDisable(pd);
	assert_int_equal(PmuRead(pd, &data), n);
	assert_int_equal(GetWarn(), SUCCESS);
	for (int i = 0; i < n; i++) {
		assert_true(data[i].count > 0);
		assert_true(data[i].countPercent > 0);
		assert_int_equal(data[i].count, data[0].count);
	}
	PmuDataFree(data);
}

static void no_room_for_a_group(void **state)
{
	struct EvtAttr groups[] = {{.groupId = 4}, {.groupId = 4}};
	struct PmuData *data;
	struct test_attr test;
	struct full full;
	int pd;

	fill(&full);
	user_attr(&test);
	test.events[1] = "instructions";
	test.attr.numEvt = test.attr.numEvtAttr = 2;
	test.attr.evtAttr = groups;
	pd = test_open(COUNTING, &test);
	PmuEnable(pd);
	test_burn(50);
	PmuDisable(pd);
	assert_int_equal(PmuRead(pd, &data), 2);
	assert_int_equal(GetWarn(), LIBPERF_WARN_NOT_COUNTED);
	assert_non_null(strstr(GetWarnMsg(), "'instructions' was not counted"));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(data[i].groupId, 4);
		assert_int_equal(data[i].count, 0);
		assert_true(data[i].countPercent == -1);
	}
	PmuDataFree(data);
	empty(&full);
	counts_again(pd, 2);
	PmuClose(pd);
}

/* No samples are not silence: the reason is a warning. */
static void no_room_for_samples(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	struct full full;
	int pd, n;

	fill(&full);
	user_attr(&test);
	test.events[0] = "cycles";
	test.attr.period = 100000;
	pd = test_open(SAMPLING, &test);
	PmuEnable(pd);
	test_burn(50);
	assert_int_equal(PmuRead(pd, &data), 0);
	assert_int_equal(GetWarn(), LIBPERF_WARN_NOT_COUNTED);
	empty(&full);
	test_burn(50);
	PmuDisable(pd);
	n = PmuRead(pd, &data);
	assert_int_equal(GetWarn(), SUCCESS);
	assert_true(n > 10);
	PmuDataFree(data);
	PmuClose(pd);
}

/* Puts an empty file in the place of each descriptor of an event, which stays mapped. */
static void replace_events(void)
{
	int empty_file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char path[64], link[64];
	size_t n = 0;

	for (int fd = 3; fd < 1000; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		memset(link, 0, sizeof(link));
		if (readlink(path, link, sizeof(link) - 1) > 0 &&
			strcmp(link, "anon_inode:[perf_event]") == 0) {
			assert_int_equal(dup2(empty_file, fd), fd);
			n++;
		}
	}
	close(empty_file);
	assert_int_equal(n, 1);
}

/* With enableUserAccess, a count is read where no system call can read it. */
static void without_system_calls(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	struct full full;
	int any[] = {-1}, pd;

	fill(&full);
	empty(&full);
	user_attr(&test);
	test.events[0] = "cycles";
	test.pids[0] = 0;
	test.attr.cpuList = any;
	test.attr.numCpu = 1;
	test.attr.enableUserAccess = 1;
	pd = test_open(COUNTING, &test);
	PmuEnable(pd);
	assert_int_equal(PmuRead(pd, &data), 1);
	PmuDataFree(data);
	replace_events();
	for (int i = 0; i < 2; i++) {
		test_burn(50);
		if (PmuRead(pd, &data) != 1) {
			print_message("%s\n", Perror());
			fail();
		}
		assert_true(data->count > 1000000);
		assert_true(data->countPercent == 1);
		PmuDataFree(data);
	}
	PmuClose(pd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_larger_than_the_pmu),
		cmocka_unit_test(more_events_than_counters),
		cmocka_unit_test(no_room_for_a_group),
		cmocka_unit_test(no_room_for_samples),
		cmocka_unit_test(without_system_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
