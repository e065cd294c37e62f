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

/* The stack of a call has the functions of the program, innermost first. */
static void stacks_of_system_calls(void **state)
{
	const char *funcs[] = {"getppid"};
	int pids[] = {0}, pd, n; /* this process */
	struct PmuTraceAttr attr = {.funcs = funcs,
		.numFuncs = 1,
		.pidList = pids,
		.numPid = 1,
		.callStack = 1,
		.symbolMode = RESOLVE_ELF};
	struct PmuTraceData *data;

	test_need_root();
	for (int whole = 1; whole >= 0; whole--) {
		attr.callStack = (unsigned)whole;
		pd = PmuTraceOpen(TRACE_SYS_CALL, &attr);
		assert_true(pd > 0);
		assert_int_equal(PmuTraceEnable(pd), SUCCESS);
		test_getppid(3);
		assert_int_equal(PmuTraceDisable(pd), SUCCESS);
		n = PmuTraceRead(pd, &data);
		PmuTraceClose(pd); /* the data stays */
		assert_int_equal(n, 3);
		for (int i = 0; i < n; i++) {
			const struct Stack *stack = data[i].stack, *caller = stack;

			assert_non_null(stack);
			assert_string_not_equal(stack->symbol->module, "[kernel]");
			assert_true(whole || !stack->next);
			while (caller && strcmp(caller->symbol->symbolName, __func__) != 0)
				caller = caller->next;
			assert_true(!whole == !caller);
		}
		PmuTraceDataFree(data);
	}
	attr.symbolMode = NO_SYMBOL_RESOLVE;
	pd = PmuTraceOpen(TRACE_SYS_CALL, &attr);
	PmuTraceEnable(pd);
	test_getppid(1);
	assert_int_equal(PmuTraceRead(pd, &data), 1);
	assert_null(data[0].stack);
	PmuTraceDataFree(data);
	PmuTraceClose(pd);
	attr.symbolMode = (enum SymbolMode)77;
	pd = PmuTraceOpen(TRACE_SYS_CALL, &attr);
	assert_int_equal(GetWarn(), LIBPERF_WARN_IGNORED);
	PmuTraceClose(pd);
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
	test_returns(PmuTraceEnable(99), LIBPERF_ERR_INVALID_PD);
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

/* The path of this program; static. */
static char *own_path(void)
{
	static char path[512];

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	return path;
}

/* As a C++ compiler names the function `call` of a namespace. */
__attribute__((noinline)) static void call_of_cxx(int i) __asm__("_ZN4test4callEi");

static void call_of_cxx(int i)
{
	test_getppid((size_t)i);
}

static void calls_of_a_cxx_function(void **state)
{
	struct SymbolSource source = {own_path(), "test::call"};
	int pids[] = {0}, pd; /* this process */
	struct UTraceAttr attr = {.symSrc = &source, .numSym = 1, .pidList = pids, .numPid = 1};
	struct UTraceData *data;

	test_need_root();
	for (int i = 0; i < 2; i++) {
		pd = UTraceOpen(&attr);
		assert_true(pd > 0);
		assert_int_equal(UTraceEnable(pd), SUCCESS);
		for (int n = 0; n < 7; n++)
			call_of_cxx(n);
		assert_int_equal(UTraceDisable(pd), SUCCESS);
		assert_int_equal(UTraceRead(pd, &data), 14);
		assert_string_equal(data[0].func, source.symbolName);
		UTraceDataFree(data);
		UTraceClose(pd);
		source.symbolName = "test::call(int)";
	}
}

static void calls_of_a_function(void **state)
{
	struct SymbolSource sources[] = {
		{own_path(), "test_getppid"}, {own_path(), "no_such_function"}};
	int pids[] = {getpid()}, pd, n, returns = 0;
	struct UTraceAttr attr = {
		.symSrc = sources, .numSym = 2, .pidList = pids, .numPid = 1, .fetchG = 1};
	struct UTraceData *data;

	test_need_root();
	pd = UTraceOpen(&attr);
	if (pd < 0)
		print_message("%s\n", Perror());
	assert_true(pd > 0);
	assert_int_equal(GetWarn(), LIBPERF_WARN_UTRACE_ELF_SCAN_FAILED);
	assert_int_equal(UTraceEnable(pd), SUCCESS);
	for (int i = 0; i < 25; i++)
		test_getppid(1);
	assert_int_equal(UTraceDisable(pd), SUCCESS);
	n = UTraceRead(pd, &data);
	UTraceClose(pd);
	assert_int_equal(n, 50);
	for (int i = 0; i < n; i++) {
		assert_int_equal(data[i].isRet, i % 2);
		assert_string_equal(data[i].func, "test_getppid");
		assert_string_equal(data[i].module, own_path());
		assert_int_equal(data[i].tid, getpid());
		assert_int_equal(data[i].gPtr, 0); /* this is not a Go program */
		assert_true(i == 0 || data[i].timestamp >= data[i - 1].timestamp);
		returns += data[i].isRet;
		if (!data[i].isRet)
			assert_true(data[i].addr == (unsigned long)test_getppid);
	}
	assert_int_equal(returns, 25);
	UTraceDataFree(data);
}

#ifdef __x86_64__
#define KERNEL_GETPPID "__x64_sys_getppid"
#else
#define KERNEL_GETPPID "__arm64_sys_getppid"
#endif

/* Also together with a function that the kernel lacks. Not every kernel has kprobes. */
static void calls_in_the_kernel(void **state)
{
	struct SymbolSource sources[] = {
		{"[kernel]", KERNEL_GETPPID}, {"vmlinux", "no_such_function"}};
	int pids[] = {getpid()}, pd, n, returns = 0;
	struct UTraceAttr attr = {.symSrc = sources, .numSym = 2, .pidList = pids, .numPid = 1};
	struct UTraceData *data;

	test_need_root();
	pd = UTraceOpen(&attr);
	assert_int_equal(GetWarn(), LIBPERF_WARN_UTRACE_KERNEL_FAILED);
	if (pd < 0) {
		test_error_is(LIBPERF_ERR_KERNEL_TRACE_FAILED);
		assert_non_null(strstr(GetWarnMsg(), KERNEL_GETPPID));
		skip();
	}
	assert_int_equal(UTraceEnable(pd), SUCCESS);
	test_getppid(25);
	assert_int_equal(UTraceDisable(pd), SUCCESS);
	n = UTraceRead(pd, &data);
	UTraceClose(pd);
	assert_int_equal(n, 50);
	for (int i = 0; i < n; i++) {
		assert_string_equal(data[i].func, KERNEL_GETPPID);
		assert_string_equal(data[i].module, "[kernel]");
		returns += data[i].isRet;
	}
	assert_int_equal(returns, 25);
	UTraceDataFree(data);
}

static void bad_functions(void **state)
{
	struct SymbolSource none = {own_path(), "no_such_function"}, file = {"/no/such", "f"};
	struct UTraceAttr attr = {.symSrc = &none, .numSym = 1};

	assert_int_equal(UTraceOpen(NULL), -1);
	test_error_is(LIBPERF_ERR_NULL_POINTER);
	assert_int_equal(UTraceOpen(&attr), -1);
	test_error_is(LIBPERF_ERR_UTRACE_ELF_SCAN_FAILED);
	assert_int_equal(GetWarn(), LIBPERF_WARN_UTRACE_ELF_SCAN_FAILED);
	attr.symSrc = &file;
	assert_int_equal(UTraceOpen(&attr), -1);
	test_error_is(LIBPERF_ERR_UTRACE_ELF_SCAN_FAILED);
	none.moduleName = "kernel";
	attr.symSrc = &none;
	assert_int_equal(UTraceOpen(&attr), -1);
	test_error_is(LIBPERF_ERR_KERNEL_TRACE_FAILED);
	assert_int_equal(GetWarn(), LIBPERF_WARN_UTRACE_KERNEL_FAILED);
	assert_non_null(strstr(GetWarnMsg(), "no_such_function"));
	none.symbolName = "a\"b";
	assert_int_equal(UTraceOpen(&attr), -1);
	assert_int_equal(Perrorno(), LIBPERF_ERR_UTRACE_ELF_SCAN_FAILED);
	assert_non_null(strstr(Perror(), "with a quote"));
	assert_int_equal(UTraceRead(3, NULL), -1);
	UTraceDataFree(NULL);
	test_error_is(LIBPERF_ERR_NULL_POINTER); /* freeing keeps the error */
}

static void counts_are_not_written(PmuFile file)
{
	struct PmuData *data;
	struct test_attr test;
	int pd;

	test_attr(&test, "page-faults");
	pd = test_open(COUNTING, &test);
	assert_int_equal(PmuRead(pd, &data), 1);
	test_returns(PmuWriteData(file, data, 1), LIBPERF_ERR_NOT_SUPPORT_PMU_FILE);
	PmuDataFree(data);
	PmuClose(pd);
}

static void bad_files(void **state)
{
	char event[] = "page-faults", *events[] = {event};
	struct PmuAttr attr = {.evtList = events, .numEvt = 1};
	struct PmuData mine = {0};
	PmuFile file;
	int garbage[64] = {0};

	assert_null(PmuBeginWrite(NULL, &attr, 0));
	test_error_is(LIBPERF_ERR_NULL_POINTER);
	assert_null(PmuBeginWrite("/no/such/folder/file", &attr, 0));
	test_error_is(LIBPERF_ERR_OPEN_INVALID_FILE);
	attr.numEvt = 0;
	assert_null(PmuBeginWrite("/dev/null", &attr, 0));
	test_error_is(LIBPERF_ERR_NOT_SUPPORT_PMU_FILE);
	attr.numEvt = 1;
	test_returns(PmuWriteData(NULL, &mine, 1), LIBPERF_ERR_INVALID_PMU_FILE);
	test_returns(PmuWriteData(garbage, &mine, 1), LIBPERF_ERR_INVALID_PMU_FILE);
	PmuEndWrite(NULL);
	test_error_is(LIBPERF_ERR_INVALID_PMU_FILE);
	file = PmuBeginWrite("/dev/null", &attr, 0);
	assert_non_null(file);
	test_returns(PmuWriteData(file, &mine, 1), LIBPERF_ERR_INVALID_PMU_DATA);
	assert_int_equal(PmuWriteData(file, NULL, 0), SUCCESS);
	counts_are_not_written(file);
	PmuEndWrite(file);
	assert_int_equal(Perrorno(), SUCCESS);
	PmuEndWrite(file);
	test_error_is(LIBPERF_ERR_INVALID_PMU_FILE);
	test_returns(PmuWriteData(file, &mine, 1), LIBPERF_ERR_INVALID_PMU_FILE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_of_system_calls),
		cmocka_unit_test(stacks_of_system_calls),
		cmocka_unit_test(bad_attributes_of_traces),
		cmocka_unit_test(names_of_system_calls),
		cmocka_unit_test(calls_of_a_function),
		cmocka_unit_test(calls_of_a_cxx_function),
		cmocka_unit_test(calls_in_the_kernel),
		cmocka_unit_test(bad_functions),
		cmocka_unit_test(bad_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
