/* SPDX-License-Identifier: MIT */
/* Errors: each code that can be reached, with its sentence. */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "kperf_test.h"

static void open_fails(enum PmuTaskType type, struct test_attr *test, int code)
{
	assert_int_equal(PmuOpen(type, &test->attr), -1);
	test_error_is(code);
}

static void attributes_of_any_task(void **state)
{
	static int cpus[] = {100000};
	struct test_attr test;

	assert_int_equal(PmuOpen(COUNTING, NULL), -1);
	test_error_is(LIBPERF_ERR_NULL_POINTER);
	test_attr(&test, "page-faults");
	open_fails(MAX_TASK_TYPE, &test, LIBPERF_ERR_INVALID_TASK_TYPE);
	open_fails((enum PmuTaskType)77, &test, LIBPERF_ERR_INVALID_TASK_TYPE);
	test.attr.evtList = NULL;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_EVTLIST);
	test_attr(&test, "page-faults");
	test.attr.numEvt = 0;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_EVTLIST);
	test.attr.numEvt = 0xdeadbeef;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_EVTLIST);
	test_attr(&test, NULL);
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_EVENT);
	test_attr(&test, "no-such-event");
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_EVENT);
	test_attr(&test, "mem:0x1001/8:w"); /* which the kernel refuses: it is not aligned */
	open_fails(COUNTING, &test, LIBPERF_ERR_DEVICE_INVAL);
	test_attr(&test, "page-faults,minor-faults");
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_EVENT);
	test_attr(&test, "page-faults");
	test.attr.cpuList = cpus;
	test.attr.numCpu = 1;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_CPULIST);
	test.attr.cpuList = NULL;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_CPULIST);
}

static void lists_of_processes(void **state)
{
	struct test_attr test;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	test_attr(&test, "page-faults");
	test.pids[0] = child;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_PID);
	test.pids[0] = -7;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_PIDLIST);
	test.attr.pidList = NULL;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_PIDLIST);
}

/* Its number exists until its parent waits for it, but it cannot be opened any more. */
static void a_process_that_has_ended(void **state)
{
	struct test_attr test;
	siginfo_t info;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	test_attr(&test, "page-faults");
	test.pids[0] = child;
	open_fails(COUNTING, &test, LIBPERF_ERR_NO_PROC);
	open_fails(SAMPLING, &test, LIBPERF_ERR_NO_PROC);
	waitpid(child, NULL, 0);
}

/* In a child process, in which check() may exhaust or close any resource. */
static void in_a_child(bool (*check)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(!check());
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

static bool fails_with_closed_descriptors(void)
{
	struct PmuData *data;
	struct test_attr test;
	int pd;

	test_attr(&test, "page-faults");
	pd = PmuOpen(COUNTING, &test.attr);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	return pd > 0 && PmuEnable(pd) == LIBPERF_ERR_FAILED_PMU_ENABLE &&
	       test_has_error(LIBPERF_ERR_FAILED_PMU_ENABLE) &&
	       PmuDisable(pd) == LIBPERF_ERR_FAILED_PMU_DISABLE &&
	       test_has_error(LIBPERF_ERR_FAILED_PMU_DISABLE) && PmuRead(pd, &data) == -1 &&
	       test_has_error(UNKNOWN_ERROR);
}

static void descriptors_closed_by_the_host(void **state)
{
	in_a_child(fails_with_closed_descriptors);
}

static bool rings_need_memory(void)
{
	const struct rlimit little = {1 << 20, 1 << 20};
	struct test_attr test;

	test_attr(&test, "page-faults");
	setrlimit(RLIMIT_AS, &little);
	return PmuOpen(SAMPLING, &test.attr) == -1 && test_has_error(COMMON_ERR_NOMEM);
}

static void without_memory(void **state)
{
#ifdef __SANITIZE_ADDRESS__
	print_message("the sanitizer needs memory itself\n");
	skip();
#endif
	in_a_child(rings_need_memory);
}

/* A list that could not be made is an error, and is made by a later call. */
static bool lists_need_descriptors(void)
{
	struct rlimit before;
	unsigned n;

	getrlimit(RLIMIT_NOFILE, &before);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max});
	if (PmuEventList(CORE_EVENT, &n) || n || !test_has_error(LIBPERF_ERR_TOO_MANY_FD))
		return false;
	if (PmuEventList(ALL_EVENT, &n) || n || !test_has_error(LIBPERF_ERR_TOO_MANY_FD))
		return false;
	setrlimit(RLIMIT_NOFILE, &before);
	return PmuEventList(CORE_EVENT, &n) && n > 0;
}

static void lists_without_descriptors(void **state)
{
	in_a_child(lists_need_descriptors);
}

/* /sys is empty, also without the folder on which tracefs is mounted. */
static bool lists_need_tracefs(void)
{
	unsigned n;

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("tmpfs", "/sys", "tmpfs", 0, NULL) != 0) {
		print_message("no file system can be mounted here: %m\n");
		return true;
	}
	return !PmuEventList(TRACE_EVENT, &n) && n == 0 &&
	       test_has_error(LIBPERF_ERR_QUERY_EVENT_LIST_FAILED);
}

static void lists_without_tracefs(void **state)
{
	test_need_root();
	in_a_child(lists_need_tracefs);
}

static void code_that_is_excluded(void **state)
{
	struct EvtAttr attrs[] = {{.groupId = -1}, {.groupId = -1, .excludeKernel = 1}};
	struct test_attr test;

	test_attr(&test, "page-faults");
	test.attr.excludeUser = test.attr.excludeKernel = 1;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_EVTATTR);
	test.events[1] = "minor-faults";
	test.attr.numEvt = test.attr.numEvtAttr = 2;
	test.attr.evtAttr = attrs;
	test.attr.excludeKernel = 0;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_EVTATTR);
	assert_non_null(strstr(Perror(), "'minor-faults'"));
}

static void opens_with_a_warning(enum PmuTaskType type, struct test_attr *test, const char *text)
{
	int pd = test_open(type, test);

	assert_int_equal(GetWarn(), text ? LIBPERF_WARN_IGNORED : SUCCESS);
	if (text)
		assert_non_null(strstr(GetWarnMsg(), text));
	PmuClose(pd);
}

static void attributes_that_are_ignored(void **state)
{
	struct test_attr test;

	test_attr(&test, "page-faults");
	test.attr.symbolMode = RESOLVE_DELAY_DWARF;
	opens_with_a_warning(SAMPLING, &test, NULL);
	test.attr.symbolMode = 9;
	opens_with_a_warning(SAMPLING, &test, "symbolMode 9");
	test_attr(&test, "page-faults");
	test.attr.includeNewFork = 1;
	opens_with_a_warning(COUNTING, &test, NULL);
	opens_with_a_warning(SAMPLING, &test, "includeNewFork");
	test_attr(&test, "page-faults");
	test.attr.minLatency = 100;
	opens_with_a_warning(SAMPLING, &test, "minLatency");
	opens_with_a_warning(COUNTING, &test, "minLatency");
	test.attr.minLatency = 0;
	test.attr.dataFilter = LOAD_FILTER;
	opens_with_a_warning(SAMPLING, &test, "dataFilter");
}

/* Each function that is left out, as long as there is room, and the number of the others. */
static void warnings_name_all(void **state)
{
	struct SymbolSource sources[100];
	char names[100][32], own[PATH_MAX] = "";
	struct UTraceAttr attr = {.symSrc = sources, .numSym = 3};
	const char *end;
	unsigned named = 0;

	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	for (int i = 0; i < 100; i++) {
		snprintf(names[i], sizeof(names[i]), "no_function_%d", i);
		sources[i] = (struct SymbolSource){own, names[i]};
	}
	assert_int_equal(UTraceOpen(&attr), -1);
	for (int i = 0; i < 3; i++)
		assert_non_null(strstr(GetWarnMsg(), names[i]));
	assert_null(strstr(GetWarnMsg(), "uprobe"));
	assert_null(strstr(GetWarnMsg(), "more"));
	attr.numSym = 100;
	assert_int_equal(UTraceOpen(&attr), -1);
	for (const char *at = GetWarnMsg(); (at = strstr(at, " is left out")); at++)
		named++;
	assert_in_range(named, 3, 99);
	end = strstr(GetWarnMsg(), "; and ");
	assert_non_null(end);
	assert_int_equal(strtoul(end + strlen("; and "), NULL, 10), 100 - named);
}

static void attributes_of_options(void **state)
{
	struct EvtAttr attrs[2] = {{.groupId = 1}, {.groupId = 1}};
	char *cgroups[] = {"no-such-cgroup"};
	struct test_attr test;
	int cpu = 0;

	test_attr(&test, "page-faults");
	test.attr.numEvtAttr = 1;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_EVTATTR);
	assert_non_null(strstr(Perror(), "evtAttr is NULL"));
	test.attr.evtAttr = attrs;
	test.attr.numEvtAttr = 2;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_EVTATTR);
	test.attr.numEvtAttr = 1;
	open_fails(SPE_SAMPLING, &test, LIBPERF_ERR_INVALID_GROUP_SPE);
	test.attr.enableBpf = 1;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_BPF_PARAM);
	test_attr(&test, "page-faults");
	test.attr.enableHwMetric = 1;
	open_fails(COUNTING, &test, LIBPERF_ERR_NOT_SUPPORT_HWMETRIC);
	test_attr(&test, "page-faults");
	test.attr.useFreq = 1;
	open_fails(SAMPLING, &test, LIBPERF_ERR_INVALID_SAMPLE_RATE);
	test.attr.freq = 0xffffffff;
	open_fails(SAMPLING, &test, LIBPERF_ERR_INVALID_SAMPLE_RATE);
	test_attr(&test, "page-faults");
	test.attr.branchSampleFilter = KPERF_SAMPLE_BRANCH_ANY;
	open_fails(COUNTING, &test, LIBPERF_ERR_BRANCH_JUST_SUPPORT_SAMPLING);
	test.attr.branchSampleFilter = KPERF_SAMPLE_BRANCH_USER;
	open_fails(SAMPLING, &test, LIBPERF_ERR_INVALID_BRANCH_SAMPLE_FILTER);
	test.attr.branchSampleFilter = 1UL << 40;
	open_fails(SAMPLING, &test, LIBPERF_ERR_INVALID_BRANCH_SAMPLE_FILTER);
	test_attr(&test, "page-faults");
	test.attr.enableUserAccess = 1;
	open_fails(COUNTING, &test, LIBPERF_ERR_CHECK_USER_ACCESS);
	test_attr(&test, "page-faults");
	test.attr.numPid = 0;
	test.attr.enableOnExec = 1;
	open_fails(COUNTING, &test, LIBPERF_ERR_NOT_SUPPORT_EXEC_ON);
	test.attr.enableOnExec = 0;
	test.attr.perThread = 1;
	open_fails(SAMPLING, &test, LIBPERF_ERR_NOT_SUPPORT_PER_THREAD);
	test.attr.numPid = 1;
	open_fails(COUNTING, &test, LIBPERF_ERR_NOT_SUPPORT_PER_THREAD);
	test.attr.cpuList = &cpu;
	test.attr.numCpu = 1;
	open_fails(SAMPLING, &test, LIBPERF_ERR_NOT_SUPPORT_PER_THREAD);
	test.attr.numCpu = test.attr.numPid = test.attr.perThread = 0;
	test.attr.cgroupNameList = cgroups;
	test.attr.numCgroup = 1;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_CGROUP_LIST);
	cgroups[0] = "a*";
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_CGROUP_LIST);
	test.attr.cgroupNameList = NULL;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_CGROUP_LIST);
}

static void attributes_of_blocked_samples(void **state)
{
	struct EvtAttr attrs[1] = {{.groupId = 1}};
	struct test_attr test;

	test_attr(&test, "cycles");
	test.attr.blockedSample = 1;
	open_fails(COUNTING, &test, LIBPERF_ERR_INVALID_BLOCKED_SAMPLE);
	open_fails(SAMPLING, &test, LIBPERF_ERR_NOT_SUPPORT_CONFIG_EVENT);
	test.attr.evtAttr = attrs;
	open_fails(SAMPLING, &test, LIBPERF_ERR_NOT_SUPPORT_GROUP_EVENT);
	test.attr.numPid = 0;
	open_fails(SAMPLING, &test, LIBPERF_ERR_NOT_SUPPORT_SYSTEM_SAMPLE);
}

static void attributes_of_spe(void **state)
{
	struct test_attr test;

	test_attr(&test, NULL);
	test.attr.minLatency = 5000;
	open_fails(SPE_SAMPLING, &test, LIBPERF_ERR_INVALID_MIN_LATENCY);
	test.attr.minLatency = 0;
	test.attr.evFilter = 1;
	open_fails(SPE_SAMPLING, &test, LIBPERF_ERR_INVALID_EVT_FILTER);
	test.attr.evFilter = SPE_EVENT_NONE;
	test.attr.dataFilter = (enum SpeFilter)(1UL << 60);
	open_fails(SPE_SAMPLING, &test, LIBPERF_ERR_INVALID_DATA_FILTER);
	test.attr.dataFilter = LOAD_FILTER;
	test.attr.useFreq = 1;
	open_fails(SPE_SAMPLING, &test, LIBPERF_ERR_INVALID_SAMPLE_RATE);
	test.attr.useFreq = 0;
	if (access("/sys/bus/event_source/devices/arm_spe_0", F_OK) != 0)
		open_fails(SPE_SAMPLING, &test, LIBPERF_ERR_SPE_UNAVAIL);
}

static void without_permission(void **state)
{
	struct test_attr test;
	int status;
	pid_t child;

	test_need_root();
	child = fork();
	if (child == 0) {
		test_attr(&test, "page-faults");
		test.attr.numPid = 0;
		if (setuid(65534) != 0)
			_exit(2);
		_exit(PmuOpen(COUNTING, &test.attr) != -1 ||
			!test_has_error(LIBPERF_ERR_NO_PERMISSION));
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

/* Runs check() as user nobody in a child process; it returns true if all is as expected. */
static void as_nobody(bool (*check)(void))
{
	pid_t child;
	int status;

	test_need_root();
	child = fork();
	if (child == 0)
		_exit(setuid(65534) != 0 || !check());
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

static bool open_fails_with(struct test_attr *test, int code)
{
	int pd = PmuOpen(COUNTING, &test->attr);

	return pd == -1 && test_has_error(code);
}

/* Rings of a user are in memory that is locked, within a limit of all its tasks together. */
static bool rings_need_locked_memory(void)
{
	struct rlimit descriptors;
	struct test_attr test;
	int n = 0;

	getrlimit(RLIMIT_NOFILE, &descriptors);
	descriptors.rlim_cur = descriptors.rlim_max;
	setrlimit(RLIMIT_NOFILE, &descriptors);
	setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){0, 0});
	test_attr(&test, "page-faults:u");
	if (PmuOpen(COUNTING, &test.attr) < 0) {
		print_message("users may not count here: %s\n", Perror());
		return true;
	}
	while (n < 500 && PmuOpen(SAMPLING, &test.attr) > 0)
		n++;
	return test_has_error(LIBPERF_ERR_FAIL_MMAP);
}

static void without_locked_memory(void **state)
{
	as_nobody(rings_need_locked_memory);
}

/* With kernel.perf_event_paranoid of 2, an event of a user is one of user code. */
static bool the_kernel_is_excluded(void)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	struct test_attr test;
	int level = 0;

	if (!file || fscanf(file, "%d", &level) != 1 || level != 2) {
		print_message("kernel.perf_event_paranoid is not 2\n");
		return true;
	}
	fclose(file);
	test_attr(&test, "page-faults");
	return PmuOpen(COUNTING, &test.attr) > 0 && GetWarn() == LIBPERF_WARN_KERNEL_EXCLUDED &&
	       strstr(GetWarnMsg(), "page-faults");
}

static void without_the_kernel(void **state)
{
	as_nobody(the_kernel_is_excluded);
}

/* A process of another user exists: the error is a missing permission. */
static bool a_foreign_process_exists(void)
{
	struct test_attr test;

	test_attr(&test, "page-faults");
	test.pids[0] = 1;
	return open_fails_with(&test, LIBPERF_ERR_NO_PERMISSION);
}

static void processes_of_others(void **state)
{
	as_nobody(a_foreign_process_exists);
}

static bool no_thread_is_possible(void)
{
	const struct rlimit none = {0};
	struct test_attr test;

	setrlimit(RLIMIT_NPROC, &none);
	test_attr(&test, "page-faults:u");
	test.attr.includeNewFork = 1;
	return open_fails_with(&test, LIBPERF_ERR_FAIL_LISTEN_PROC);
}

static void without_threads(void **state)
{
	as_nobody(no_thread_is_possible);
}

static bool no_probe_is_possible(void)
{
	struct SymbolSource source = {"/proc/self/exe", "test_getppid"};
	struct UTraceAttr attr = {.symSrc = &source, .numSym = 1};
	char path[512] = "";

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return false;
	source.moduleName = path;
	return UTraceOpen(&attr) == -1 && test_has_error(LIBPERF_ERR_UTRACE_PROBE_REGISTER_FAILED);
}

static void without_probes(void **state)
{
	as_nobody(no_probe_is_possible);
}

static void mappings_outside_of_memory(void **state)
{
	char path[512] = "";

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	test_returns(SymResolverUpdateModule(getpid(), path, -16UL), LIBSYM_ERR_FILE_INVALID);
	SymResolverDestroy();
}

static void descriptors_of_no_task(void **state)
{
	struct PmuData *data = (struct PmuData *)1;
	struct test_attr test;
	const int bad[] = {0, -1, 12345678, 1 << 30};
	int pd;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		test_returns(PmuEnable(bad[i]), LIBPERF_ERR_INVALID_PD);
		test_returns(PmuDisable(bad[i]), LIBPERF_ERR_INVALID_PD);
		assert_int_equal(PmuRead(bad[i], &data), -1);
		assert_null(data);
		test_error_is(LIBPERF_ERR_INVALID_PD);
		test_returns(PmuCollect(bad[i], 1, 100), LIBPERF_ERR_INVALID_PD);
		PmuStop(bad[i]);
		PmuExit(bad[i]);
		PmuClose(bad[i]);
		test_error_is(LIBPERF_ERR_INVALID_PD);
	}
	test_attr(&test, "page-faults");
	pd = PmuOpen(COUNTING, &test.attr);
	assert_true(pd > 0);
	assert_int_equal(PmuRead(pd, NULL), -1);
	test_error_is(LIBPERF_ERR_NULL_POINTER);
	test_returns(PmuCollect(pd, -2, 100), LIBPERF_ERR_INVALID_TIME);
	test_returns(PmuCollect(pd, 10, 99), LIBPERF_ERR_INVALID_TIME);
	test_returns(PmuCollectV(NULL, 1, 10), LIBPERF_ERR_INVALID_PD);
	PmuClose(pd);
	assert_int_equal(Perrorno(), SUCCESS);
	assert_string_equal(Perror(), "");
	PmuClose(pd);
	test_error_is(LIBPERF_ERR_INVALID_PD);
	/* Its number is not given to the next task. */
	assert_int_not_equal(PmuOpen(COUNTING, &test.attr), pd);
}

static void a_number_of_tasks_is_the_most(void **state)
{
	struct rlimit before, more;
	struct test_attr test;
	int pds[1100], n = 0;

	getrlimit(RLIMIT_NOFILE, &before);
	more = before;
	more.rlim_cur = more.rlim_max;
	setrlimit(RLIMIT_NOFILE, &more);
	test_attr(&test, "page-faults");
	while (n < 1100 && (pds[n] = PmuOpen(COUNTING, &test.attr)) > 0)
		n++;
	setrlimit(RLIMIT_NOFILE, &before);
	assert_true(n < 1100);
	test_error_is(more.rlim_cur > 1200 ? LIBPERF_ERR_NO_AVAIL_PD : LIBPERF_ERR_TOO_MANY_FD);
	while (n > 0)
		PmuClose(pds[--n]);
}

static void foreign_data_is_refused(void **state)
{
	struct PmuData mine = {0}, *list = NULL;
	char path[] = "/no/such/folder/file";

	PmuEnable(-1);
	PmuDataFree(NULL); /* keeps the error, as free(3) does */
	test_error_is(LIBPERF_ERR_INVALID_PD);
	PmuDataFree(&mine);
	test_error_is(LIBPERF_ERR_INVALID_PMU_DATA);
	assert_int_equal(PmuAppendData(NULL, &list), -1);
	test_error_is(LIBPERF_ERR_INVALID_PMU_DATA);
	assert_int_equal(PmuAppendData(&mine, &list), -1);
	assert_int_equal(PmuAppendData(&mine, NULL), -1);
	test_returns(ResolvePmuDataSymbol(NULL), LIBPERF_ERR_INVALID_PMU_DATA);
	test_returns(ResolvePmuDataSymbol(&mine), LIBPERF_ERR_PMU_DATA_NO_FOUND);
	assert_int_equal(PmuDumpData(NULL, 1, path, 0), -1);
	test_error_is(LIBPERF_ERR_INVALID_PMU_DATA);
	assert_int_equal(PmuDumpData(&mine, 1, path, 0), -1);
	test_error_is(LIBPERF_ERR_PATH_INACCESSIBLE);
	assert_int_equal(PmuDumpData(&mine, 1, NULL, 0), -1);
	assert_int_equal(PmuDumpData(&mine, 1, "/dev/full", 0), -1);
	test_error_is(COMMON_ERR_WRITE);
	test_returns(PmuGetField(NULL, "x", &mine, 8), LIBPERF_ERR_INVALID_FIELD_ARGS);
	assert_null(PmuGetFieldExp(NULL, "x"));
	test_error_is(LIBPERF_ERR_INVALID_FIELD_ARGS);
}

static void lists(void **state)
{
	const char **names;
	unsigned n = 7, found = 0, *cores;

	assert_null(PmuEventList(CORE_EVENT, NULL));
	test_error_is(LIBPERF_ERR_NULL_POINTER);
	assert_null(PmuEventList((enum PmuEventType)9, &n));
	test_error_is(LIBPERF_ERR_QUERY_EVENT_TYPE_INVALID);
	assert_int_equal(n, 0);
	names = PmuEventList(CORE_EVENT, &n);
	for (unsigned i = 0; i < n; i++)
		found += strcmp(names[i], "page-faults") == 0;
	assert_int_equal(found, 1);
	assert_ptr_equal(PmuEventList(CORE_EVENT, &n), names);
	if (geteuid() == 0) {
		names = PmuEventList(ALL_EVENT, &n);
		for (unsigned i = 0; i < n; i++)
			found += strcmp(names[i], "sched:sched_switch") == 0;
		assert_int_equal(found, 2);
	}
	assert_int_equal(PmuGetNumaCore(99999, &cores), -1);
	test_error_is(LIBPERF_ERR_FAIL_GET_CPU);
	assert_int_equal(PmuGetClusterCore(99999, &cores), -1);
	test_error_is(LIBPERF_ERR_CLUSTER_ID_OVERSIZE);
	assert_int_equal(PmuGetNumaCore(0, NULL), -1);
	assert_true(PmuGetNumaCore(0, &cores) >= 1);
	free(cores);
	assert_true(PmuGetClusterCore(0, &cores) >= 1);
	assert_int_equal(cores[0], 0);
	free(cores);
}

static void metrics_of_devices(void **state)
{
	struct PmuDeviceAttr attr = {.metric = PMU_DDR_READ_BW};
	struct PmuHwMetricAttr hw = {0};
	struct PmuDeviceData *metrics;
	unsigned n;

	assert_int_equal(PmuDeviceOpen(NULL, 1), -1);
	test_error_is(LIBPERF_ERR_INVALID_MTRIC_PARAM);
	assert_int_equal(PmuDeviceOpen(&attr, 1), -1);
	test_error_is(LIBPERF_ERR_NOT_SUPPORT_METRIC);
	attr.metric = (enum PmuDeviceMetric)99;
	assert_int_equal(PmuDeviceOpen(&attr, 1), -1);
	test_error_is(LIBPERF_ERR_INVALID_PMU_DEVICES_METRIC);
	assert_null(PmuDeviceBdfList((enum PmuBdfType)5, &n));
	test_error_is(LIBPERF_ERR_INVALID_PMU_BDF_TYPE);
	assert_null(PmuDeviceBdfList(PMU_BDF_TYPE_PCIE, NULL));
	test_error_is(LIBPERF_ERR_NULL_POINTER);
	for (int type = PMU_BDF_TYPE_PCIE; type <= PMU_BDF_TYPE_SMMU; type++) {
		const char **list = PmuDeviceBdfList((enum PmuBdfType)type, &n);

		assert_true(list ? Perrorno() == SUCCESS : Perrorno() != SUCCESS && n == 0);
		assert_ptr_equal(PmuDeviceBdfList((enum PmuBdfType)type, &n), list);
	}
	assert_int_equal(PmuGetDevMetric(NULL, 0, &attr, 1, &metrics), -1);
	test_error_is(LIBPERF_ERR_PMU_DEVICES_NULL);
	DevDataFree(NULL);
	assert_int_equal(PmuOpenWithHWMetric(&hw), -1);
	test_error_is(LIBPERF_ERR_INVALID_HWMETRIC_ATTR);
}

static void frequencies(void **state)
{
	struct PmuCpuFreqDetail *details;
	unsigned n;

	assert_int_equal(PmuGetCpuFreq(100000), -1);
	test_error_is(LIBPERF_ERR_INVALID_CPULIST);
	assert_null(PmuReadCpuFreqDetail(&n));
	test_error_is(LIBPERF_ERR_NOT_OPENED);
	assert_int_equal(PmuOpenCpuFreqSampling(0), -1);
	test_error_is(LIBPERF_ERR_INVALID_CPU_FREQ_PERIOD);
	if (PmuGetCpuFreq(0) == -1) {
		test_error_is(LIBPERF_ERR_CPUFREQ_NOT_CONFIG);
		return;
	}
	assert_true(PmuGetCpuFreq(0) > 100000000);
	assert_int_equal(PmuOpenCpuFreqSampling(5), SUCCESS);
	assert_int_equal(PmuOpenCpuFreqSampling(5), -1);
	test_error_is(LIBPERF_ERR_DEVICE_BUSY);
	details = PmuReadCpuFreqDetail(&n);
	assert_non_null(details);
	assert_int_equal(n, sysconf(_SC_NPROCESSORS_CONF));
	assert_true(details[0].minFreq > 100000000 && details[0].minFreq <= details[0].avgFreq &&
		    details[0].avgFreq <= details[0].maxFreq);
	PmuCloseCpuFreqSampling();
	PmuCloseCpuFreqSampling();
	assert_null(PmuReadCpuFreqDetail(&n));
}

static void *fails_too(void *arg)
{
	PmuEnable(4711);
	PmuOpen(COUNTING, NULL);
	return NULL;
}

static void errors_belong_to_a_thread_and_stay_valid(void **state)
{
	pthread_t thread;
	const char *text;
	char copy[256];

	PmuEnable(-5);
	text = Perror();
	snprintf(copy, sizeof(copy), "%s", text);
	assert_int_equal(pthread_create(&thread, NULL, fails_too, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(Perrorno(), LIBPERF_ERR_INVALID_PD);
	assert_string_equal(Perror(), copy);
	PmuGetCpuFreq(100000);
	PmuOpen(COUNTING, NULL);
	assert_string_equal(text, copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes_of_any_task),
		cmocka_unit_test(lists_of_processes),
		cmocka_unit_test(a_process_that_has_ended),
		cmocka_unit_test(descriptors_closed_by_the_host),
		cmocka_unit_test(without_memory),
		cmocka_unit_test(lists_without_descriptors),
		cmocka_unit_test(lists_without_tracefs),
		cmocka_unit_test(code_that_is_excluded),
		cmocka_unit_test(attributes_that_are_ignored),
		cmocka_unit_test(warnings_name_all),
		cmocka_unit_test(attributes_of_options),
		cmocka_unit_test(attributes_of_blocked_samples),
		cmocka_unit_test(attributes_of_spe),
		cmocka_unit_test(without_permission),
		cmocka_unit_test(without_locked_memory),
		cmocka_unit_test(without_the_kernel),
		cmocka_unit_test(processes_of_others),
		cmocka_unit_test(without_threads),
		cmocka_unit_test(without_probes),
		cmocka_unit_test(mappings_outside_of_memory),
		cmocka_unit_test(descriptors_of_no_task),
		cmocka_unit_test(a_number_of_tasks_is_the_most),
		cmocka_unit_test(foreign_data_is_refused),
		cmocka_unit_test(lists),
		cmocka_unit_test(metrics_of_devices),
		cmocka_unit_test(frequencies),
		cmocka_unit_test(errors_belong_to_a_thread_and_stay_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
