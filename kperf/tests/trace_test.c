/* SPDX-License-Identifier: MIT */
/* System calls and functions of programs. */
#include <sys/syscall.h>
#include <time.h>

#include "kperf_test.h"

static void times_of_system_calls(void **state)
{
	const char *funcs[] = {"getppid", "clock_nanosleep"};
	struct timespec nap = {.tv_nsec = 20000000};
	int pids[] = {getpid()}, pd, n, getppids = 0, sleeps = 0;
	struct PmuTraceAttr attr = {.funcs = funcs, .numFuncs = 2, .pidList = pids, .numPid = 1};
	struct PmuTraceData *data;

	test_need_root();
	pd = PmuTraceOpen(TRACE_SYS_CALL, &attr);
	if (pd < 0)
		print_message("%s\n", Perror());
	assert_true(pd > 0);
	assert_int_equal(PmuTraceEnable(pd), SUCCESS);
	test_getppid(100);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	assert_int_equal(PmuTraceDisable(pd), SUCCESS);
	n = PmuTraceRead(pd, &data);
	PmuTraceClose(pd); /* the data stays */
	assert_int_equal(n, 101);
	for (int i = 0; i < n; i++) {
		getppids += strcmp(data[i].funcs, "getppid") == 0;
		if (strcmp(data[i].funcs, "clock_nanosleep") == 0) {
			sleeps++;
			assert_true(data[i].elapsedTime >= 20);
		}
		assert_int_equal(data[i].pid, getpid());
		assert_int_equal(data[i].tid, getpid());
		assert_true(data[i].elapsedTime > 0 && data[i].startTs > 0);
		assert_true(strlen(data[i].comm) > 0);
	}
	assert_int_equal(getppids, 100);
	assert_int_equal(sleeps, 1);
	PmuTraceDataFree(data);
	PmuTraceDataFree(data);
	test_error_is(LIBPERF_ERR_INVALID_PMU_DATA);
}

static void bad_attributes_of_traces(void **state)
{
	const char *funcs[] = {"no_such_call"};
	struct PmuTraceAttr attr = {.funcs = funcs, .numFuncs = 1};
	struct PmuTraceData *data;

	assert_int_equal(PmuTraceOpen(TRACE_SYS_CALL, NULL), -1);
	test_error_is(LIBPERF_ERR_NULL_POINTER);
	assert_int_equal(PmuTraceOpen((enum PmuTraceType)3, &attr), -1);
	test_error_is(LIBPERF_ERR_INVALID_TRACE_TYPE);
	assert_int_equal(PmuTraceRead(99, &data), -1);
	test_error_is(LIBPERF_ERR_INVALID_PD);
	assert_int_equal(PmuTraceEnable(99), LIBPERF_ERR_INVALID_PD);
	attr.funcs = NULL;
	assert_int_equal(PmuTraceOpen(TRACE_SYS_CALL, &attr), -1);
	test_error_is(LIBPERF_ERR_INVALID_SYSCALL_FUN);
	attr.funcs = funcs;
	test_need_root();
	assert_int_equal(PmuTraceOpen(TRACE_SYS_CALL, &attr), -1);
	test_error_is(LIBPERF_ERR_INVALID_SYSCALL_FUN);
}

static void names_of_system_calls(void **state)
{
	unsigned n, found = 0;
	const char **names = PmuSysCallFuncList(&n);

	for (unsigned i = 0; i < n; i++)
		found += strcmp(names[i], "read") == 0 || strcmp(names[i], "openat2") == 0;
	assert_int_equal(found, 2);
	assert_true(n > 300);
	PmuSysCallFuncListFree();
	assert_ptr_equal(PmuSysCallFuncList(&n), names);
	assert_null(PmuSysCallFuncList(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_of_system_calls),
		cmocka_unit_test(bad_attributes_of_traces),
		cmocka_unit_test(names_of_system_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
