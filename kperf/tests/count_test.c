/* SPDX-License-Identifier: MIT */
/* Counting: counts are known beforehand. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kperf_test.h"

static uint64_t sum_of(const struct PmuData *data, int n, const char *event)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		if (strcmp(data[i].evt, event) == 0)
			sum += data[i].count;
	return sum;
}

static void counts_a_process(void **state)
{
	struct PmuData *data = NULL;
	struct test_attr test;
	char comm[32] = "";
	FILE *file = fopen("/proc/self/comm", "r");
	int pd, n;

	test_attr(&test, "page-faults");
	pd = test_open(COUNTING, &test);
	PmuEnable(pd); /* first use of this code faults, too */
	PmuDisable(pd);
	test_fault(10); /* before PmuEnable(): not counted */
	assert_int_equal(PmuEnable(pd), SUCCESS);
	test_fault(100);
	assert_int_equal(PmuDisable(pd), SUCCESS);
	test_fault(10);
	n = PmuRead(pd, &data);
	assert_int_equal(n, 1);
	test_faults_are(data[0].count, 100);
	assert_string_equal(data[0].evt, "page-faults");
	assert_int_equal(data[0].pid, getpid());
	assert_int_equal(data[0].tid, getpid());
	assert_int_equal(data[0].cpu, -1);
	assert_int_equal(data[0].groupId, -1);
	assert_true(data[0].ts > 0);
	assert_true(data[0].countPercent == 1.0);
	assert_non_null(data[0].cpuTopo);
	assert_true(file && fscanf(file, "%31[^\n]", comm) == 1);
	fclose(file);
	assert_string_equal(data[0].comm, comm);
	PmuDataFree(data);
	PmuClose(pd);
}

/* All threads of the calling process, not only the calling thread. */
static void pid_0_is_the_caller(void **state)
{
	struct PmuData *data = NULL;
	struct test_attr test;
	int pd;

	test_attr(&test, "page-faults");
	test.pids[0] = 0;
	pd = test_open(COUNTING, &test);
	PmuEnable(pd);
	test_fault(100);
	PmuDisable(pd);
	assert_int_equal(PmuRead(pd, &data), 1);
	assert_true(data[0].count >= 100);
	assert_int_equal(data[0].pid, getpid());
	assert_int_equal(data[0].tid, getpid());
	PmuDataFree(data);
	PmuClose(pd);
}

static void a_read_begins_at_the_previous_one(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	int pd;

	test_attr(&test, "page-faults");
	pd = test_open(COUNTING, &test);
	PmuEnable(pd);
	for (unsigned i = 1; i < 4; i++) {
		/* Reading allocates, and so faults: it has its memory after the first turns. */
		test_fault(100 * i);
		assert_int_equal(PmuRead(pd, &data), 1);
		if (i == 3)
			assert_in_range(data[0].count, 300, 303 + TEST_FAULTS_MORE);
		PmuDataFree(data);
	}
	PmuEnable(pd); /* resets the count */
	PmuDisable(pd);
	assert_int_equal(PmuRead(pd, &data), 1);
	assert_in_range(data[0].count, 0, 3 + TEST_FAULTS_MORE);
	PmuDataFree(data);
	PmuClose(pd);
}

static void counts_system_calls_of_a_tracepoint(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	int pd, n;

	test_need_root();
	test_attr(&test, "syscalls:sys_enter_getppid");
	test.events[1] = "context-switches";
	test.attr.numEvt = 2;
	pd = test_open(COUNTING, &test);
	n = test_read_after(pd, test_getppid, 1234, &data);
	assert_int_equal(n, 2);
	assert_int_equal(sum_of(data, n, "syscalls:sys_enter_getppid"), 1234);
	PmuDataFree(data);
	PmuClose(pd);
}

/* The first row of a pattern's sum has the calls of the CPU that the test runs on. */
static void a_pattern_counts_each_cpu(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	char event[64]; /* with a filter: other processes make such calls too */
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t old, set;
	int pd, n;

	test_need_root();
	snprintf(event, sizeof(event), "syscalls:sys_*_getppid/common_pid==%d/", getpid());
	test_attr(&test, event);
	test.attr.numPid = 0;
	sched_getaffinity(0, sizeof(old), &old);
	pd = test_open(COUNTING, &test);
	PmuEnable(pd);
	for (int cpu = 0; cpu < cpus && cpu < 2; cpu++) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
		test_getppid(1000 * (cpu + 1));
	}
	PmuDisable(pd);
	sched_setaffinity(0, sizeof(old), &old);
	n = PmuRead(pd, &data);
	assert_int_equal(n, cpus);
	for (int i = 0; i < n; i++) {
		assert_string_equal(data[i].evt, event);
		assert_int_equal(data[i].cpu, i);
		/* Each call is entered and returns. */
		assert_int_equal(data[i].count, i < 2 ? 2000 * (i + 1) : 0);
	}
	PmuDataFree(data);
	PmuClose(pd);
}

static void counts_each_cpu(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int pd, n;

	test_need_root();
	test_attr(&test, "page-faults");
	test.attr.numPid = 0;
	pd = test_open(COUNTING, &test);
	n = test_read_after(pd, test_fault, 500, &data);
	assert_int_equal(n, cpus);
	for (int i = 0; i < n; i++) {
		assert_int_equal(data[i].cpu, i);
		assert_int_equal(data[i].pid, -1);
		assert_int_equal(data[i].cpuTopo->coreId, i);
		assert_true(data[i].cpuTopo->socketId >= 0);
	}
	assert_true(sum_of(data, n, "page-faults") >= 500);
	PmuDataFree(data);
	PmuClose(pd);
}

static void a_group_is_read_together(void **state)
{
	struct EvtAttr attrs[] = {{.groupId = 7}, {.groupId = 7}, {.groupId = -1}};
	struct PmuData *data;
	struct test_attr test;
	int pd, n;

	test_attr(&test, "page-faults");
	test.events[1] = "minor-faults";
	test.events[2] = "major-faults";
	test.attr.numEvt = test.attr.numEvtAttr = 3;
	test.attr.evtAttr = attrs;
	pd = test_open(COUNTING, &test);
	n = test_read_after(pd, test_fault, 64, &data);
	assert_int_equal(n, 3);
	assert_string_equal(data[0].evt, "page-faults");
	assert_int_equal(data[0].groupId, 7);
	test_faults_are(data[0].count, 64);
	assert_string_equal(data[1].evt, "minor-faults");
	assert_int_equal(data[1].groupId, 7);
	test_faults_are(data[1].count, 64);
	assert_int_equal(data[2].groupId, -1);
	assert_int_equal(data[2].count, 0);
	assert_true(data[2].countPercent == 1);
	PmuDataFree(data);
	PmuClose(pd);
}

/* Each event has attributes of its own: the faults of test_fault() are in user code. */
static void attributes_of_events(void **state)
{
	struct EvtAttr attrs[] = {
		{.groupId = -1, .excludeUser = 1}, {.groupId = -1, .excludeKernel = 1}};
	struct PmuData *data;
	struct test_attr test;
	int pd;

	test_attr(&test, "page-faults");
	test.events[1] = test.events[2] = "page-faults";
	test.attr.numEvt = 3;
	test.attr.numEvtAttr = 2;
	test.attr.evtAttr = attrs;
	pd = test_open(COUNTING, &test);
	PmuEnable(pd);
	test_fault(200);
	PmuDisable(pd);
	assert_int_equal(PmuRead(pd, &data), 3);
	assert_true(data[0].count < 100);
	test_faults_are(data[1].count, 200);
	test_faults_are(data[2].count, 200);
	PmuDataFree(data);
	PmuClose(pd);
}

static void counts_processes_that_are_created(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	struct test_child child;
	int pd, n;

	test_attr(&test, "syscalls:sys_enter_getppid");
	test_need_root();
	pd = test_open(COUNTING, &test);
	PmuEnable(pd);
	child.pid = fork();
	if (child.pid == 0) {
		test_getppid(500);
		_exit(0);
	}
	waitpid(child.pid, NULL, 0);
	PmuDisable(pd);
	n = PmuRead(pd, &data);
	assert_int_equal(n, 1);
	assert_int_equal(data[0].count, 500);
	PmuDataFree(data);
	PmuClose(pd);
}

static void *counts_in_a_thread(void *arg)
{
	struct PmuData *data;
	struct test_attr test;
	size_t *wrong = arg;

	for (int turn = 0; turn < 20; turn++) {
		int tid = (int)syscall(SYS_gettid), pd;

		test_attr(&test, "page-faults");
		pd = PmuOpen(COUNTING, &test.attr);
		PmuEnable(pd);
		test_fault(50);
		PmuDisable(pd);
		for (int i = 0, n = PmuRead(pd, &data); i < n; i++)
			if (data[i].tid == tid && data[i].count < 50)
				++*wrong;
		if (PmuOpen(MAX_TASK_TYPE, NULL) != -1 ||
			Perrorno() != LIBPERF_ERR_INVALID_TASK_TYPE)
			++*wrong;
		PmuDataFree(data);
		PmuClose(pd);
	}
	return NULL;
}

static void tasks_of_two_threads(void **state)
{
	pthread_t threads[2];
	size_t wrong[2] = {0, 0};

	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, counts_in_a_thread, &wrong[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong[0] + wrong[1], 0);
}

static void a_hundred_tasks(void **state)
{
	struct PmuData *data[100];
	struct test_attr test;
	int pds[100];

	test_attr(&test, "page-faults");
	for (int i = 0; i < 100; i++) {
		pds[i] = test_open(COUNTING, &test);
		assert_int_equal(PmuEnable(pds[i]), SUCCESS);
	}
	for (int i = 0; i < 100; i++) {
		PmuDisable(pds[i]);
		assert_int_equal(PmuRead(pds[i], &data[i]), 1);
	}
	for (int i = 0; i < 100; i += 2)
		PmuClose(pds[i]);
	for (int i = 0; i < 100; i++) {
		/* Closing other tasks, and its own, leaves data as it was. */
		assert_string_equal(data[i]->evt, "page-faults");
		assert_int_equal(data[i]->pid, getpid());
	}
	for (int i = 0; i < 100; i++)
		PmuDataFree(data[i]);
	for (int i = 1; i < 100; i += 2)
		PmuClose(pds[i]);
}

static void a_collection_counts_its_time(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	struct test_child child;
	int pd;

	test_child_start(&child, 200);
	test_attr(&test, "page-faults");
	test.pids[0] = child.pid;
	pd = test_open(COUNTING, &test);
	assert_int_equal(write(child.go[1], "  ", 2), 2); /* the child works and ends */
	assert_int_equal(PmuCollect(pd, -1, 100), SUCCESS);
	assert_int_equal(PmuRead(pd, &data), 1);
	assert_string_equal(data[0].evt, "page-faults");
	PmuDataFree(data);
	PmuClose(pd);
	waitpid(child.pid, NULL, 0);
}

enum { FAULTS_BEFORE_EXEC = 20000, MOST_OF_SH = 5000 };

/* The faults of a child before and after its exec, for a task that was opened by enableOnExec. */
static void faults_of_exec(int (*run)(int pd, struct test_child *child))
{
	struct EvtAttr group[2] = {{.groupId = 3}, {.groupId = 3}};
	struct PmuData *data;
	struct test_attr test;
	struct test_child child;
	int pd;

	test_attr(&test, "page-faults");
	test.events[1] = "minor-faults";
	for (unsigned events = 1; events <= 2; events++) {
		test_child_start_exec(&child, FAULTS_BEFORE_EXEC, ":");
		test.pids[0] = child.pid;
		test.attr.enableOnExec = 1;
		test.attr.numEvt = events;
		test.attr.numEvtAttr = events == 2 ? 2 : 0;
		test.attr.evtAttr = events == 2 ? group : NULL;
		pd = test_open(COUNTING, &test);
		assert_int_equal(run(pd, &child), SUCCESS);
		waitpid(child.pid, NULL, 0);
		assert_int_equal(PmuRead(pd, &data), events);
		assert_in_range(data[0].count, 10, MOST_OF_SH);
		PmuDataFree(data);
		PmuClose(pd);
	}
}

static int exec_alone(int pd, struct test_child *child)
{
	test_child_exec(child);
	return SUCCESS;
}

static int enable_before_exec(int pd, struct test_child *child)
{
	int r = PmuEnable(pd);

	test_child_exec(child);
	return r;
}

static int collect_until_end(int pd, struct test_child *child)
{
	int r = PmuCollect(pd, 100, 100);

	test_child_exec(child);
	return r == SUCCESS ? PmuCollect(pd, -1, 100) : r;
}

static void counts_from_the_exec_on(void **state)
{
	faults_of_exec(exec_alone);
	faults_of_exec(enable_before_exec);
	faults_of_exec(collect_until_end);
}

/* Its first name is that at the open. */
static void executed_program_is_resumed(void **state)
{
	char comm[16] = "", path[64];
	struct PmuData *data;
	struct test_attr test;
	struct test_child child;
	uint64_t before;
	int pd;
	FILE *file;

	test_child_start_exec(&child, 1, "while :; do /bin/true; done");
	test_attr(&test, "page-faults");
	test.pids[0] = child.pid;
	test.attr.enableOnExec = 1;
	pd = test_open(COUNTING, &test);
	test_child_exec(&child);
	snprintf(path, sizeof(path), "/proc/%d/comm", child.pid);
	while (strcmp(comm, "sh\n") != 0) {
		file = fopen(path, "r");
		assert_non_null(fgets(comm, sizeof(comm), file));
		fclose(file);
	}
	assert_int_equal(PmuDisable(pd), SUCCESS);
	assert_int_equal(PmuRead(pd, &data), 1);
	assert_string_equal(data[0].comm, "sh");
	PmuDataFree(data);
	assert_int_equal(PmuRead(pd, &data), 1);
	assert_int_equal(data[0].count, 0);
	PmuDataFree(data);
	assert_int_equal(PmuEnable(pd), SUCCESS);
	for (before = 0; before == 0; PmuDataFree(data)) {
		assert_int_equal(PmuRead(pd, &data), 1);
		before = data[0].count;
	}
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
	PmuClose(pd);
}

/* Also of the members of a group. */
static void filters_of_tracepoints(void **state)
{
	struct EvtAttr attrs[3] = {{.groupId = -1}, {.groupId = 1}, {.groupId = 1}};
	struct PmuData *data;
	struct test_attr test;
	int pd, n;

	test_need_root();
	test_attr(&test, "raw_syscalls:sys_enter/id==173||id==110/"); /* getppid: arm64, x86-64 */
	test.events[1] = "raw_syscalls:sys_enter/id==173||id==110/";
	test.events[2] = "raw_syscalls:sys_enter/id==9999/";
	test.attr.numEvt = test.attr.numEvtAttr = 3;
	test.attr.evtAttr = attrs;
	pd = test_open(COUNTING, &test);
	n = test_read_after(pd, test_getppid, 1000, &data);
	assert_int_equal(n, 3);
	assert_int_equal(data[0].count, 1000);
	assert_int_equal(data[1].count, 1000);
	assert_int_equal(data[2].count, 0);
	PmuDataFree(data);
	PmuClose(pd);
	test_attr(&test, "raw_syscalls:sys_enter/no_such_field==1/");
	assert_int_equal(PmuOpen(COUNTING, &test.attr), -1);
	assert_int_equal(Perrorno(), LIBPERF_ERR_INVALID_EVENT);
	assert_non_null(strstr(Perror(), "the filter 'no_such_field==1'"));
}

/* The root of a hierarchy with the controller perf_event, mounted for this test. */
static void cgroup_mount(char *root, unsigned version)
{
	assert_non_null(mkdtemp(root));
	if (version == 1 ? mount("none", root, "cgroup", 0, "perf_event") == 0
			 : mount("none", root, "cgroup2", 0, NULL) == 0)
		return;
	print_message("a hierarchy of control groups cannot be mounted: %m\n");
	rmdir(root);
	skip();
}

/* The number of groups of a hierarchy of version 1 that has the controller; 0: none has it. */
static unsigned controller_groups(void)
{
	char line[128];
	FILE *file = fopen("/proc/cgroups", "r");
	unsigned hierarchy = 0, n = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "perf_event %u %u", &hierarchy, &n);
	fclose(file);
	return hierarchy ? n : 0;
}

/*
 * The kernel releases the controller with a delay, and only if no group is left at the unmount.
 * Removed groups exist for a while; groups of other programs may stay for long.
 */
static void cgroup_unmount(const char *root, unsigned version)
{
	for (int i = 0; version == 1 && i < 40 && controller_groups() > 1; i++)
		usleep(50000);
	umount2(root, 0);
	for (int i = 0; version == 1 && i < 20 && controller_groups() == 1; i++)
		usleep(50000);
	rmdir(root);
}

/* It is busy until the kernel has removed the process that was in it. */
static void cgroup_remove(const char *path)
{
	int r = -1;

	for (int i = 0; i < 100 && r < 0; i++) {
		r = rmdir(path);
		if (r < 0)
			usleep(50000);
	}
	assert_int_equal(r, 0);
}

/* Two groups in a new hierarchy, and a child in the second one that calls getppid(2) 300 times. */
struct groups {
	char root[32], names[2][64], *list[2];
	unsigned version;
	struct test_child child;
};

static void groups_create(struct groups *groups, unsigned version)
{
	char path[256];
	FILE *file;

	*groups = (struct groups){.root = "/tmp/kperf-cgroups-XXXXXX", .version = version};
	cgroup_mount(groups->root, version);
	for (int i = 0; i < 2; i++) {
		groups->list[i] = groups->names[i];
		snprintf(groups->names[i], sizeof(groups->names[i]), "kperf-test-%d-%d", i,
			getpid());
		snprintf(path, sizeof(path), "%s/%s", groups->root, groups->names[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	test_child_start(&groups->child, 300);
	strcat(path, "/cgroup.procs");
	file = fopen(path, "w");
	if (file)
		fprintf(file, "%d\n", groups->child.pid);
	assert_true(file && fclose(file) == 0);
}

static void groups_remove(struct groups *groups)
{
	char path[256];

	test_child_end(&groups->child);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", groups->root, groups->names[i]);
		cgroup_remove(path);
	}
	cgroup_unmount(groups->root, groups->version);
}

/* The rows of a task for the groups, while the child works. */
static int read_groups(
	enum PmuTaskType type, struct groups *groups, unsigned n, struct PmuData **ret_data)
{
	struct test_attr test;
	int pd, rows;

	test_attr(&test, "syscalls:sys_enter_getppid");
	test.attr.numPid = 0;
	test.attr.cgroupNameList = &groups->list[2 - n];
	test.attr.numCgroup = n;
	test.attr.period = 1;
	pd = PmuOpen(type, &test.attr);
	PmuEnable(pd);
	test_child_work(&groups->child);
	PmuDisable(pd);
	rows = PmuRead(pd, ret_data);
	PmuClose(pd);
	return rows;
}

static void counts_a_group_of(unsigned version)
{
	struct groups groups;
	struct PmuData *data;
	uint64_t sum = 0;
	int n;

	test_need_root();
	groups_create(&groups, version);
	n = read_groups(COUNTING, &groups, 1, &data);
	groups_remove(&groups);
	assert_int_equal(n, sysconf(_SC_NPROCESSORS_ONLN));
	for (int i = 0; i < n; i++) {
		sum += data[i].count;
		assert_string_equal(data[i].cgroupName, groups.names[1]);
	}
	PmuDataFree(data);
	assert_int_equal(sum, 300);
}

static void samples_of_control_groups(void **state)
{
	struct groups groups;
	struct PmuData *data;
	int n;

	test_need_root();
	groups_create(&groups, 1);
	n = read_groups(SAMPLING, &groups, 2, &data);
	groups_remove(&groups);
	assert_int_equal(n, 300);
	for (int i = 0; i < n; i++) {
		assert_string_equal(data[i].cgroupName, groups.names[1]);
		assert_int_equal(data[i].tid, groups.child.pid);
	}
	PmuDataFree(data);
}

/* The controller is in one hierarchy at a time: in version 2 unless version 1 has it. */
static void counts_a_control_group(void **state)
{
	counts_a_group_of(1);
}

static void counts_a_control_group_v2(void **state)
{
	if (controller_groups()) {
		print_message("perf_event is in a hierarchy of version 1\n");
		skip();
	}
	counts_a_group_of(2);
}

static void counts_the_calling_thread(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	int any[] = {-1}, pd;

	test_attr(&test, "page-faults");
	test.pids[0] = 0;
	test.attr.cpuList = any;
	test.attr.numCpu = 1;
	test.attr.enableUserAccess = 1;
	pd = test_open(COUNTING, &test);
	PmuEnable(pd);
	PmuDisable(pd);
	PmuEnable(pd);
	test_fault(77);
	PmuDisable(pd);
	assert_int_equal(PmuRead(pd, &data), 1);
	test_faults_are(data[0].count, 77);
	assert_int_equal(data[0].tid, getpid());
	PmuDataFree(data);
	PmuClose(pd);
}

/* enableBpf counts the same, with a warning. */
static void without_bpf_programs(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	int pd;

	test_attr(&test, "page-faults");
	test.attr.enableBpf = 1;
	pd = test_open(COUNTING, &test);
	assert_int_equal(GetWarn(), LIBPERF_WARN_REPLACED);
	PmuEnable(pd);
	test_fault(1000);
	PmuDisable(pd);
	assert_int_equal(PmuRead(pd, &data), 1);
	test_faults_are(data->count, 1000);
	PmuDataFree(data);
	PmuClose(pd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_a_process),
		cmocka_unit_test(pid_0_is_the_caller),
		cmocka_unit_test(a_read_begins_at_the_previous_one),
		cmocka_unit_test(counts_system_calls_of_a_tracepoint),
		cmocka_unit_test(counts_each_cpu),
		cmocka_unit_test(a_pattern_counts_each_cpu),
		cmocka_unit_test(a_group_is_read_together),
		cmocka_unit_test(attributes_of_events),
		cmocka_unit_test(counts_processes_that_are_created),
		cmocka_unit_test(tasks_of_two_threads),
		cmocka_unit_test(a_hundred_tasks),
		cmocka_unit_test(a_collection_counts_its_time),
		cmocka_unit_test(counts_from_the_exec_on),
		cmocka_unit_test(executed_program_is_resumed),
		cmocka_unit_test(filters_of_tracepoints),
		cmocka_unit_test(counts_a_control_group),
		cmocka_unit_test(counts_a_control_group_v2),
		cmocka_unit_test(samples_of_control_groups),
		cmocka_unit_test(counts_the_calling_thread),
		cmocka_unit_test(without_bpf_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
