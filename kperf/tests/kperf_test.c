/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "kperf_test.h"

/* What the message of an error has in it. */
static const struct {
	int code;
	const char *word;
} words[] = {
	{COMMON_ERR_NOMEM, "memory"},
	{COMMON_ERR_WRITE, "cannot write"},
	{LIBSYM_ERR_KALLSYMS_INVALID, "kallsyms"},
	{LIBSYM_ERR_DWARF_FORMAT_FAILED, "no source lines"},
	{LIBSYM_ERR_ELFIN_FOMAT_FAILED, "not a 64-bit ELF file"},
	{LIBSYM_ERR_OPEN_FILE_FAILED, "cannot open"},
	{LIBSYM_ERR_NOT_FIND_PID, "process"},
	{LIBSYM_ERR_MAP_ADDR_MODULE_FAILED, "has no code at"},
	{LIBSYM_ERR_PARAM_PID_INVALID, "is not a process"},
	{LIBSYM_ERR_MAP_CODE_KERNEL_NOT_SUPPORT, "is not a file"},
	{LIBSYM_ERR_CMD_OPERATE_FAILED, "objdump"},
	{LIBSYM_ERR_FILE_NOT_RGE, "not a regular file"},
	{LIBSYM_ERR_START_SMALLER_END, "is empty"},
	{LIBSYM_ERR_FILE_INVALID, "the file "},
	{LIBSYM_ERR_READ_BUILDID, "build ID"},
	{LIBSYM_ERR_ASM_RESOLVE_FAILED, "objdump"},
	{LIBPERF_ERR_NO_AVAIL_PD, "tasks are open"},
	{LIBPERF_ERR_FAIL_LISTEN_PROC, "includeNewFork"},
	{LIBPERF_ERR_INVALID_CPULIST, "CPU"},
	{LIBPERF_ERR_INVALID_PIDLIST, "pidList"},
	{LIBPERF_ERR_INVALID_EVTLIST, "evtList"},
	{LIBPERF_ERR_INVALID_PD, "task"},
	{LIBPERF_ERR_INVALID_EVENT, "event"},
	{LIBPERF_ERR_SPE_UNAVAIL, "arm_spe_0"},
	{LIBPERF_ERR_FAIL_GET_CPU, "NUMA node"},
	{LIBPERF_ERR_NO_PERMISSION, "CAP_"},
	{LIBPERF_ERR_DEVICE_BUSY, "already"},
	{LIBPERF_ERR_DEVICE_INVAL, "breakpoint"},
	{LIBPERF_ERR_FAIL_MMAP, "locked memory"},
	{LIBPERF_ERR_INVALID_PID, "no process"},
	{LIBPERF_ERR_INVALID_TASK_TYPE, "type of task"},
	{LIBPERF_ERR_INVALID_TIME, "PmuCollect"},
	{LIBPERF_ERR_NO_PROC, "does not exist, or has exited"},
	{LIBPERF_ERR_TOO_MANY_FD, "open files"},
	{LIBPERF_ERR_INVALID_PMU_DATA, "ata"},
	{LIBPERF_ERR_FAILED_PMU_ENABLE, "page-faults"},
	{LIBPERF_ERR_FAILED_PMU_DISABLE, "cannot disable"},
	{LIBPERF_ERR_NOT_OPENED, "not sampled"},
	{LIBPERF_ERR_QUERY_EVENT_TYPE_INVALID, "type of events"},
	{LIBPERF_ERR_QUERY_EVENT_LIST_FAILED, "tracefs"},
	{LIBPERF_ERR_PATH_INACCESSIBLE, "cannot open"},
	{LIBPERF_ERR_INVALID_SAMPLE_RATE, "freq"},
	{LIBPERF_ERR_INVALID_FIELD_ARGS, "PmuGetField"},
	{LIBPERF_ERR_FIND_FIELD_LOSS, "has no field"},
	{LIBPERF_ERR_INVALID_GROUP_SPE, "groups"},
	{LIBPERF_ERR_INVALID_GROUP_ALL_UNCORE, "events of devices only"},
	{LIBPERF_ERR_INVALID_TRACE_TYPE, "TRACE_SYS_CALL"},
	{LIBPERF_ERR_INVALID_SYSCALL_FUN, "uncs"},
	{LIBPERF_ERR_INVALID_BRANCH_SAMPLE_FILTER, "branchSampleFilter 0x"},
	{LIBPERF_ERR_BRANCH_JUST_SUPPORT_SAMPLING, "a task of SAMPLING"},
	{LIBPERF_ERR_NOT_SUPPORT_CONFIG_EVENT, "evtList must be NULL"},
	{LIBPERF_ERR_INVALID_BLOCKED_SAMPLE, "blockedSample"},
	{LIBPERF_ERR_NOT_SUPPORT_GROUP_EVENT, "evtAttr must be NULL"},
	{LIBPERF_ERR_NOT_SUPPORT_SYSTEM_SAMPLE, "pidList"},
	{LIBPERF_ERR_INVALID_PMU_DEVICES_METRIC, "not a metric"},
	{LIBPERF_ERR_INVALID_PMU_DEVICES_BDF, "`bdf`"},
	{LIBPERF_ERR_OPEN_INVALID_FILE, "cannot open"},
	{LIBPERF_ERR_INVALID_BDF_VALUE, "not a PCI device"},
	{LIBPERF_ERR_NOT_SUPPORT_PCIE_BDF, "no PMU counts the device"},
	{LIBPERF_ERR_NOT_SUPPORT_SMMU_BDF, "SMMU"},
	{LIBPERF_ERR_INVALID_IOSMMU_DIR, "iommu"},
	{LIBPERF_ERR_INVALID_SMMU_NAME, "smmu3"},
	{LIBPERF_ERR_NOT_SUPPORT_PCIE_COUNTING, "hisi_pcie"},
	{LIBPERF_ERR_OPEN_PCI_FILE_FAILD, "devices"},
	{LIBPERF_ERR_INVALID_MTRIC_PARAM, "attr"},
	{LIBPERF_ERR_PMU_DEVICES_NULL, "pmuData"},
	{LIBPERF_ERR_CPUFREQ_NOT_CONFIG, "cpufreq"},
	{LIBPERF_ERR_CLUSTER_ID_OVERSIZE, "no cluster"},
	{LIBPERF_ERR_INVALID_PMU_BDF_TYPE, "type of devices"},
	{LIBPERF_ERR_NOT_SUPPORT_METRIC, "needs a PMU"},
	{LIBPERF_ERR_INVALID_CPU_FREQ_PERIOD, "period"},
	{LIBPERF_ERR_PMU_DATA_NO_FOUND, "not from PmuRead()"},
	{LIBPERF_ERR_INVALID_CGROUP_LIST, "group"},
	{LIBPERF_ERR_NOT_SUPPORT_PMU_FILE, "SAMPLING"},
	{LIBPERF_ERR_INVALID_PMU_FILE, "PmuBeginWrite()"},
	{LIBPERF_ERR_NOT_SUPPORT_PCIE_PORT, "port"},
	{LIBPERF_ERR_INVALID_EVTATTR, "EvtAttr"},
	{LIBPERF_ERR_CHECK_USER_ACCESS, "enableUserAccess"},
	{LIBPERF_ERR_INVALID_BPF_PARAM, "enableBpf"},
	{LIBPERF_ERR_NULL_POINTER, "NULL"},
	{LIBPERF_ERR_BUFFER_CORRUPTED, "outside its record"},
	{LIBPERF_ERR_NOT_SUPPORT_HWMETRIC, "HW_METRIC"},
	{LIBPERF_ERR_INVALID_HWMETRIC_ATTR, "metric"},
	{LIBPERF_ERR_INVALID_MIN_LATENCY, "minLatency"},
	{LIBPERF_ERR_INVALID_EVT_FILTER, "evFilter"},
	{LIBPERF_ERR_INVALID_DATA_FILTER, "dataFilter"},
	{LIBPERF_ERR_NOT_SUPPORT_EXEC_ON, "enableOnExec"},
	{LIBPERF_ERR_NOT_SUPPORT_PER_THREAD, "perThread"},
	{LIBPERF_ERR_UTRACE_ELF_SCAN_FAILED, "functions"},
	{LIBPERF_ERR_UTRACE_PROBE_REGISTER_FAILED, "probe"},
	{LIBPERF_ERR_PROC_DATA_NULL, "numData"},
	{LIBPERF_ERR_KERNEL_TRACE_FAILED, "functions"},
	{UNKNOWN_ERROR, "cannot read"},
};

bool test_has_error(int code)
{
	size_t i = 0, n = sizeof(words) / sizeof(words[0]);

	while (i < n && words[i].code != code)
		i++;
	if (i < n && Perrorno() == code && strstr(Perror(), words[i].word))
		return true;
	print_message("%d: %s\n", Perrorno(), Perror());
	return false;
}

void test_error_is(int code)
{
	assert_true(test_has_error(code));
}

void test_fault(size_t n)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *area =
		mmap(NULL, n * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(area != MAP_FAILED);
	madvise(area, n * size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		area[i * size] = 1;
	munmap(area, n * size);
}

__attribute__((noinline)) void test_burn(int ms)
{
	volatile unsigned long work = 0;
	clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000);

	while (clock() < end)
		for (int i = 0; i < 1000000; i++)
			work += (unsigned long)i;
}

void test_getppid(size_t n)
{
	for (size_t i = 0; i < n; i++)
		syscall(SYS_getppid);
}

int test_read_after(int pd, void (*act)(size_t n), size_t n, struct PmuData **ret_data)
{
	PmuEnable(pd);
	act(n);
	PmuDisable(pd);
	return PmuRead(pd, ret_data);
}

void test_attr(struct test_attr *test, const char *event)
{
	memset(test, 0, sizeof(*test));
	test->pids[0] = getpid();
	test->events[0] = (char *)event;
	test->attr.evtList = test->events;
	test->attr.numEvt = 1;
	test->attr.pidList = test->pids;
	test->attr.numPid = 1;
}

void test_sampling_attr(struct test_attr *test, enum SymbolMode mode)
{
	test_attr(test, "cpu-clock");
	test->attr.useFreq = 1;
	test->attr.freq = 1000;
	test->attr.excludeKernel = 1;
	test->attr.callStack = 1;
	test->attr.symbolMode = mode;
}

int test_open(enum PmuTaskType type, struct test_attr *test)
{
	int pd = PmuOpen(type, &test->attr);

	if (pd < 0)
		print_message("%s\n", Perror());
	assert_true(pd > 0);
	assert_int_equal(Perrorno(), SUCCESS);
	return pd;
}

void test_need_root(void)
{
	if (geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
}

void test_child_start(struct test_child *child, size_t n)
{
	char byte;

	assert_int_equal(pipe(child->go) + pipe(child->done), 0);
	child->pid = fork();
	if (child->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* of a test that fails */
		if (read(child->go[0], &byte, 1) == 1) {
			test_fault(n);
			test_getppid(n);
		}
		if (write(child->done[1], "", 1) == 1 && read(child->go[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
}

void test_child_start_exec(struct test_child *child, size_t n, const char *script)
{
	char byte;

	assert_int_equal(pipe2(child->go, O_CLOEXEC), 0);
	child->pid = fork();
	if (child->pid != 0)
		return;
	if (read(child->go[0], &byte, 1) != 1)
		_exit(1);
	test_fault(n);
	test_getppid(n);
	execl("/bin/sh", "sh", "-c", script, NULL);
	_exit(1);
}

void test_child_exec(struct test_child *child)
{
	assert_int_equal(write(child->go[1], "", 1), 1);
	close(child->go[0]);
	close(child->go[1]);
}

void test_child_work(struct test_child *child)
{
	char byte;

	assert_int_equal(write(child->go[1], "", 1), 1);
	assert_int_equal(read(child->done[0], &byte, 1), 1);
}

void test_child_end(struct test_child *child)
{
	assert_int_equal(write(child->go[1], "", 1), 1);
	waitpid(child->pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(child->go[i]);
		close(child->done[i]);
	}
}
