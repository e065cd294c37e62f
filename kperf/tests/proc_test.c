/* SPDX-License-Identifier: MIT */
/* Files of /proc: entries compared with the files and with system calls. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "kperf_test.h"

static const struct ProcData *source_of(
	const struct ProcData *data, unsigned n, enum ProcSource source)
{
	for (unsigned i = 0; i < n; i++)
		if (data[i].source == source)
			return &data[i];
	print_message("no source %d\n", source);
	fail();
	return NULL;
}

static const char *field_of(const struct ProcField *fields, unsigned n, const char *key)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(fields[i].key, key) == 0)
			return fields[i].value;
	print_message("no field %s\n", key);
	fail();
	return NULL;
}

static void cpus_and_interrupts(void **state)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const struct ProcData *d;
	struct ProcData *data;
	unsigned n, lines[8] = {0};

	assert_int_equal(ProcDataRead(0, &data, &n), SUCCESS);
	d = source_of(data, n, PROC_STAT);
	for (unsigned i = 0; i < d->numEntries; i++) {
		lines[d->stat[i].lineType]++;
		if (d->stat[i].lineType == PROC_STAT_LINE_CPU)
			assert_true(d->stat[i].user + d->stat[i].idle > 0);
		if (d->stat[i].lineType == PROC_STAT_LINE_BTIME)
			assert_true(d->stat[i].btime > 1500000000);
		if (d->stat[i].lineType == PROC_STAT_LINE_SOFTIRQ)
			assert_true(d->stat[i].numSoftirqPerType >= 8);
	}
	assert_int_equal(lines[PROC_STAT_LINE_CPU], cpus + 1);
	for (int line = PROC_STAT_LINE_INTR; line <= PROC_STAT_LINE_SOFTIRQ; line++)
		assert_int_equal(lines[line], 1);
	assert_string_equal(d->stat[1].cpuName, "cpu0");
	assert_string_equal(d->filePath, "/proc/stat");
	assert_int_equal(source_of(data, n, PROC_CPUINFO)->numEntries, cpus);
	d = source_of(data, n, PROC_SOFTIRQS);
	assert_string_equal(d->softirqs[0].type, "HI");
	assert_true(d->softirqs[0].numCpus >= cpus);
	assert_true(source_of(data, n, PROC_INTERRUPTS)->numEntries > 3);
	ProcDataFree(data, n);
	ProcDataFree(NULL, 0);
	assert_int_equal(Perrorno(), SUCCESS);
	ProcDataFree(data, n);
	test_error_is(LIBPERF_ERR_INVALID_PMU_DATA);
}

static void memory(void **state)
{
	const struct ProcData *d;
	struct ProcData *data;
	unsigned n;

	assert_int_equal(ProcDataRead(0, &data, &n), SUCCESS);
	d = source_of(data, n, PROC_MEMINFO);
	assert_string_equal(d->meminfo[0].key, "MemTotal");
	assert_string_equal(d->meminfo[0].unit, "kB");
	assert_true(
		d->meminfo[0].value * 1024 == (unsigned long long)sysconf(_SC_PHYS_PAGES) *
						      (unsigned long long)sysconf(_SC_PAGESIZE));
	d = source_of(data, n, PROC_ZONEINFO);
	assert_true(d->numEntries >= 1 && d->zoneinfo[0].pagesManaged > 0);
	field_of(d->zoneinfo[0].nodeStats, d->zoneinfo[0].numNodeStats, "nr_active_anon");
	for (unsigned i = 0; i < d->numEntries; i++) /* also of zones without a free page */
		field_of(d->zoneinfo[i].stats, d->zoneinfo[i].numStats, "managed");
	d = source_of(data, n, PROC_BUDDYINFO);
	assert_true(d->buddyinfo[0].numOrders >= 10);
	ProcDataFree(data, n);
}

static void network(void **state)
{
	const struct ProcData *d;
	struct ProcData *data;
	unsigned n, found = 0;

	assert_int_equal(ProcDataRead(0, &data, &n), SUCCESS);
	d = source_of(data, n, PROC_NET_DEV);
	for (unsigned i = 0; i < d->numEntries; i++)
		found += strcmp(d->netDev[i].iface, "lo") == 0;
	assert_int_equal(found, 1);
	d = source_of(data, n, PROC_NET_NETSTAT);
	assert_string_equal(d->netNetstat[0].category, "TcpExt");
	field_of(d->netNetstat[0].fields, d->netNetstat[0].numFields, "TCPTimeouts");
	ProcDataFree(data, n);
}

static void the_system(void **state)
{
	const struct ProcData *d;
	struct ProcData *data;
	struct utsname name;
	unsigned n, found = 0;

	assert_int_equal(ProcDataRead(0, &data, &n), SUCCESS);
	d = source_of(data, n, PROC_LOADAVG);
	assert_true(d->numEntries == 1 && d->loadavg->totalProcs > 0 && d->loadavg->lastPid > 0);
	assert_true(source_of(data, n, PROC_UPTIME)->uptime->total > 1);
	d = source_of(data, n, PROC_MOUNTS);
	for (unsigned i = 0; i < d->numEntries; i++)
		found += strcmp(d->mounts[i].mountPoint, "/proc") == 0 &&
			 strcmp(d->mounts[i].fsType, "proc") == 0;
	assert_true(found >= 1);
	uname(&name);
	assert_non_null(strstr(source_of(data, n, PROC_VERSION)->version->version, name.release));
	ProcDataFree(data, n);
}

static void settings(void **state)
{
	const struct ProcData *d;
	struct ProcData *data;
	unsigned n, found = 0;

	assert_int_equal(ProcDataRead(0, &data, &n), SUCCESS);
	d = source_of(data, n, PROC_SYS_KERNEL);
	for (unsigned i = 0; i < d->numEntries; i++)
		if (strcmp(d->sysDir[i].name, "ostype") == 0) {
			assert_string_equal(d->sysDir[i].value, "Linux");
			assert_string_equal(d->sysDir[i].path, "/proc/sys/kernel/ostype");
			found++;
		}
	assert_int_equal(found, 1);
	ProcDataFree(data, n);
}

static void identity_of_a_process(void **state)
{
	const struct ProcData *d;
	struct ProcData *data;
	char pid[16];
	unsigned n, found = 0;

	snprintf(pid, sizeof(pid), "%d", getpid());
	assert_int_equal(ProcDataRead(getpid(), &data, &n), SUCCESS);
	d = source_of(data, n, PROC_PID_STAT);
	assert_int_equal(d->pid, getpid());
	assert_int_equal(d->pidStat->pid, getpid());
	assert_int_equal(d->pidStat->ppid, getppid());
	assert_true(d->pidStat->vsize > 0 && d->pidStat->numThreads == 1);
	d = source_of(data, n, PROC_PID_TASK_STAT);
	assert_int_equal(d->numEntries, 1);
	assert_int_equal(d->pidTaskStat->pid, getpid());
	d = source_of(data, n, PROC_PID_STATUS);
	assert_string_equal(field_of(d->pidStatus->fields, d->pidStatus->numFields, "Pid"), pid);
	assert_non_null(
		strstr(source_of(data, n, PROC_PID_CMDLINE)->pidCmdline->cmdline, "kperf_proc"));
	assert_true(source_of(data, n, PROC_PID_ENVIRON)->numEntries > 0);
	d = source_of(data, n, PROC_PID_LIMITS);
	for (unsigned i = 0; i < d->numEntries; i++)
		found += strcmp(d->pidLimits[i].limit, "Max open files") == 0 &&
			 strcmp(d->pidLimits[i].units, "files") == 0;
	assert_int_equal(found, 1);
	ProcDataFree(data, n);
}

static void memory_and_files_of_a_process(void **state)
{
	char path[512] = "";
	const struct ProcData *d;
	struct ProcData *data;
	unsigned n, found = 0, files = 0;

	assert_int_equal(ProcDataRead(getpid(), &data, &n), SUCCESS);
	d = source_of(data, n, PROC_PID_STATM);
	assert_true(d->pidStatm->size > d->pidStatm->resident);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	d = source_of(data, n, PROC_PID_MAPS);
	for (unsigned i = 0; i < d->numEntries; i++)
		found += strcmp(d->pidMaps[i].pathname, path) == 0;
	assert_true(found >= 2);
	d = source_of(data, n, PROC_PID_SMAPS);
	field_of(d->pidSmaps->fields, d->pidSmaps->numFields, "Rss");
	for (int fd = 0; fd < 1024; fd++)
		files += fcntl(fd, F_GETFD) >= 0;
	assert_int_equal(source_of(data, n, PROC_PID_FD)->pidFd->fdCount, files);
	d = source_of(data, n, PROC_PID_IO);
	assert_true(d->pidIo->syscr > 0 && d->pidIo->rchar > 0);
	ProcDataFree(data, n);
}

static void bad_calls(void **state)
{
	struct ProcData *data;
	unsigned n;

	test_returns(ProcDataRead(0, NULL, &n), LIBPERF_ERR_PROC_DATA_NULL);
	test_returns(ProcDataRead(0, &data, NULL), LIBPERF_ERR_PROC_DATA_NULL);
	test_returns(ProcDataRead(-4, &data, &n), LIBPERF_ERR_INVALID_PID);
	test_returns(ProcDataRead(0x7ffffff, &data, &n), LIBPERF_ERR_INVALID_PID);
	assert_null(data);
}

/* In a child process without files of /proc, each of which is left out. */
static bool files_are_left_out(void)
{
	struct ProcData *data;
	unsigned n;

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("tmpfs", "/proc", "tmpfs", 0, NULL) != 0) {
		print_message("no file system can be mounted here: %m\n");
		return true;
	}
	return ProcDataRead(0, &data, &n) == SUCCESS && n == 0 &&
	       GetWarn() == LIBPERF_WARN_FAIL_GET_PROC &&
	       strstr(GetWarnMsg(), "/proc/stat is left out: No such file or directory");
}

static void an_empty_proc(void **state)
{
	pid_t child;
	int status;

	test_need_root();
	child = fork();
	if (child == 0)
		_exit(!files_are_left_out());
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_and_interrupts),
		cmocka_unit_test(memory),
		cmocka_unit_test(network),
		cmocka_unit_test(the_system),
		cmocka_unit_test(settings),
		cmocka_unit_test(identity_of_a_process),
		cmocka_unit_test(memory_and_files_of_a_process),
		cmocka_unit_test(bad_calls),
		cmocka_unit_test(an_empty_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
