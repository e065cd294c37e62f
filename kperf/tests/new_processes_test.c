/* SPDX-License-Identifier: MIT */
/* Counting with includeNewFork: each new thread has rows, and the sum of all rows is exact. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "kperf_test.h"

static void new_processes_have_separate_rows(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	struct test_child child;
	uint64_t own = 0, all = 0;
	int pd, n;

	test_need_root();
	test_attr(&test, "syscalls:sys_enter_getppid");
	test.attr.includeNewFork = 1;
	pd = test_open(COUNTING, &test);
	PmuEnable(pd);
	test_child_start(&child, 1000);
	/* The row exists once the thread that waits for forks has run. */
	for (bool seen = false; !seen;) {
		n = PmuRead(pd, &data);
		for (int i = 0; i < n; i++)
			seen |= data[i].tid == child.pid;
		PmuDataFree(data);
	}
	test_child_work(&child);
	PmuDisable(pd);
	n = PmuRead(pd, &data);
	assert_int_equal(n, 2);
	for (int i = 0; i < n; i++) {
		all += data[i].count;
		if (data[i].tid == child.pid)
			own = data[i].count;
	}
	assert_int_equal(own, 1000);
	assert_int_equal(all, 1000);
	PmuDataFree(data);
	test_child_end(&child);
	PmuClose(pd);
}

/* Whether the process has stopped itself. */
static bool has_stopped(pid_t pid)
{
	char path[64], line[256] = "";
	FILE *file;
	bool found;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	found = fgets(line, sizeof(line), file) && strstr(line, ") T ");
	fclose(file);
	return found;
}

/*
 * They count from the exec of their parent on, without PmuEnable(). sh calls getppid(2) once: the
 * program itself, its child, and the child after its exec, which has its own counter by then.
 */
static void processes_of_an_executed_program(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	struct test_child child;
	uint64_t all = 0, own = 0;
	pid_t new = -1;
	int pd;

	test_need_root();
	test_attr(&test, "syscalls:sys_enter_getppid");
	test_child_start_exec(&child, 1000, "/bin/sh -c 'kill -STOP $$; exec /bin/sh -c :' & wait");
	test.pids[0] = child.pid;
	test.attr.enableOnExec = test.attr.includeNewFork = 1;
	pd = test_open(COUNTING, &test);
	test_child_exec(&child);
	for (bool ended = false; !ended;) {
		int n;

		ended = waitpid(child.pid, NULL, WNOHANG) == child.pid;
		n = PmuRead(pd, &data);
		for (int i = 0; i < n; i++) {
			if (data[i].tid != child.pid)
				new = data[i].tid;
			all += data[i].count;
			own += data[i].tid == new ? data[i].count : 0;
		}
		PmuDataFree(data);
		if (new > 0 && has_stopped(new))
			kill(new, SIGCONT);
	}
	assert_int_equal(all, 3);
	assert_in_range(own, 1, 2);
	PmuClose(pd);
}

static void *calls(void *arg)
{
	test_getppid(10);
	return arg;
}

/* Each process calls getppid(2) 10 times, and so do a child and a thread of it. */
static void create_processes(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		pthread_t thread;

		if (fork() > 0)
			continue;
		test_getppid(10);
		if (fork() == 0) {
			test_getppid(10);
			_exit(0);
		}
		if (pthread_create(&thread, NULL, calls, NULL) == 0)
			pthread_join(thread, NULL);
		wait(NULL);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
}

/* The sums of a task for a child that creates n processes while it is read all the time. */
struct sums {
	uint64_t all, of_new; /* of_new: in rows of new threads */
	int rows_at_end;
};

static void add_sums(int pd, pid_t root, const struct test_attr *test, struct sums *sums)
{
	struct PmuData *data;
	int n = PmuRead(pd, &data);

	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		bool listed = test->attr.numCpu == 0 ? data[i].cpu == -1 : false;

		for (unsigned cpu = 0; cpu < test->attr.numCpu; cpu++)
			listed |= data[i].cpu == test->attr.cpuList[cpu];
		assert_true(listed);
		if (strcmp(data[i].evt, "syscalls:sys_enter_getppid") != 0)
			continue;
		sums->all += data[i].count;
		sums->of_new += data[i].tid == root ? 0 : data[i].count;
	}
	sums->rows_at_end = n;
	PmuDataFree(data);
}

static struct sums sums_of_new_processes(struct test_attr *test, size_t n)
{
	struct sums sums = {0};
	int go[2], pd;
	pid_t pid;
	char byte;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) == 1)
			create_processes(n);
		_exit(0);
	}
	test->pids[0] = pid;
	test->attr.includeNewFork = 1;
	pd = test_open(COUNTING, test);
	assert_int_equal(PmuEnable(pd), SUCCESS);
	assert_int_equal(write(go[1], "", 1), 1);
	while (waitpid(pid, NULL, WNOHANG) == 0)
		add_sums(pd, pid, test, &sums);
	add_sums(pd, pid, test, &sums);
	add_sums(pd, pid, test, &sums); /* without rows of threads that have ended */
	PmuClose(pd);
	close(go[0]);
	close(go[1]);
	return sums;
}

static void counts_of_new_processes_are_exact(void **state)
{
	int n_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), cpus[2] = {0, 1};
	struct EvtAttr group[2] = {{.groupId = 3}, {.groupId = 3}};

	test_need_root();
	for (int mode = 0; mode < 4; mode++) {
		struct test_attr test;
		struct sums sums;

		test_attr(&test, "syscalls:sys_enter_getppid");
		test.events[1] = "page-faults";
		test.attr.numEvt = 2;
		if (mode & 1) {
			test.attr.cpuList = cpus;
			test.attr.numCpu = n_cpus > 1 ? 2 : 1;
		}
		if (mode & 2) {
			test.attr.evtAttr = group;
			test.attr.numEvtAttr = 2;
		}
		sums = sums_of_new_processes(&test, 100);
		if (!(mode & 1) || n_cpus <= 2)
			assert_int_equal(sums.all, 3000);
		assert_true(sums.of_new <= sums.all); /* 0 on a busy machine */
		assert_int_equal(sums.rows_at_end, mode & 1 ? 2 * test.attr.numCpu : 2);
	}
}

static int open_files(void)
{
	int n = 0;
	DIR *dir = opendir("/proc/self/fd");

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void calls_on_cpu_1(size_t n)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(1, &set);
	sched_setaffinity(0, sizeof(set), &set);
	test_getppid(n);
}

/* Processes that the test creates itself: each has rows at once, and no descriptors at its end. */
static void new_processes_are_counted_on_the_cpus_of_the_task(void **state)
{
	int cpus[] = {0, 1}, pd, before;
	struct test_attr test;
	struct PmuData *data;

	test_need_root();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	for (int n_cpus = 1; n_cpus <= 2; n_cpus++) {
		uint64_t of_cpu[2] = {0, 0};

		test_attr(&test, "syscalls:sys_enter_getppid");
		test.attr.cpuList = cpus;
		test.attr.numCpu = (unsigned)n_cpus;
		test.attr.includeNewFork = 1;
		pd = test_open(COUNTING, &test);
		PmuEnable(pd);
		before = open_files();
		for (int i = 0; i < 20; i++) {
			if (fork() == 0) {
				calls_on_cpu_1(10);
				_exit(0);
			}
			wait(NULL);
		}
		for (int i = 0, n = PmuRead(pd, &data); i < n; i++)
			of_cpu[data[i].cpu] += data[i].count;
		assert_int_equal(of_cpu[0], 0);
		assert_int_equal(of_cpu[1], n_cpus == 2 ? 200 : 0);
		assert_int_equal(open_files(), before);
		PmuDataFree(data);
		assert_int_equal(PmuRead(pd, &data), n_cpus);
		PmuDataFree(data);
		PmuClose(pd);
	}
}

/* Without descriptors for new processes, sums are exact, too. */
static void new_processes_at_the_limit_of_files(void **state)
{
	struct rlimit limit, low;
	struct PmuData *data;
	struct test_attr test;
	uint64_t all = 0, of_new = 0;
	bool warned = false;
	pid_t pid;
	int pd;

	test_need_root();
	test_attr(&test, "syscalls:sys_enter_getppid");
	test.attr.includeNewFork = 1;
	pd = test_open(COUNTING, &test);
	PmuEnable(pd);
	getrlimit(RLIMIT_NOFILE, &limit);
	low = (struct rlimit){.rlim_cur = 3, .rlim_max = limit.rlim_max};
	setrlimit(RLIMIT_NOFILE, &low);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		test_getppid(50);
		pause();
	}
	while (all < 50) {
		int n = PmuRead(pd, &data);

		warned |= GetWarn() == LIBPERF_WARN_TOO_MANY_FD &&
			  strstr(GetWarnMsg(), "RLIMIT_NOFILE");
		for (int i = 0; i < n; i++) {
			all += data[i].count;
			of_new += data[i].tid == pid ? data[i].count : 0;
		}
		PmuDataFree(data);
	}
	setrlimit(RLIMIT_NOFILE, &limit);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(all, 50);
	assert_int_equal(of_new, 0);
	assert_true(warned);
	PmuClose(pd);
}

/* CPU time of the process's threads but the first, in ticks. */
static unsigned long time_of_others(void)
{
	struct ProcData *data;
	unsigned long ticks = 0;
	unsigned n;

	assert_int_equal(ProcDataRead(getpid(), &data, &n), SUCCESS);
	for (unsigned i = 0; i < n; i++)
		for (unsigned at = 0;
			data[i].source == PROC_PID_TASK_STAT && at < data[i].numEntries; at++)
			if (data[i].pidTaskStat[at].pid != getpid())
				ticks += data[i].pidTaskStat[at].utime +
					 data[i].pidTaskStat[at].stime;
	ProcDataFree(data, n);
	return ticks;
}

/* The thread of includeNewFork waits: it uses no CPU time while nothing is created. */
static void the_waiting_thread_waits(void **state)
{
	struct test_attr test;
	unsigned long before;
	int pd;

	test_attr(&test, "page-faults");
	test.attr.includeNewFork = 1;
	pd = test_open(COUNTING, &test);
	PmuEnable(pd);
	before = time_of_others();
	test_burn(300); /* 30 ticks */
	assert_in_range(time_of_others(), before, before + 2);
	PmuClose(pd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_processes_have_separate_rows),
		cmocka_unit_test(processes_of_an_executed_program),
		cmocka_unit_test(counts_of_new_processes_are_exact),
		cmocka_unit_test(new_processes_are_counted_on_the_cpus_of_the_task),
		cmocka_unit_test(new_processes_at_the_limit_of_files),
		cmocka_unit_test(the_waiting_thread_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
