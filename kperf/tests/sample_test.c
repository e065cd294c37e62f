/* SPDX-License-Identifier: MIT */
/* Sampling: samples of known events. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "kperf_test.h"

static void getppid_attr(struct test_attr *test)
{
	test_need_root();
	test_attr(test, "raw_syscalls:sys_enter");
}

/* The number of samples of getppid(2); each has the fields of the tracepoint. */
static size_t getppids(const struct PmuData *data, int n)
{
	size_t found = 0;

	for (int i = 0; i < n; i++) {
		long id = -1;

		assert_int_equal(PmuGetField(data[i].rawData, "id", &id, sizeof(id)), SUCCESS);
		found += id == 110 || id == 173; /* x86-64, arm64 */
	}
	return found;
}

static void every_event_of_a_tracepoint(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	int pd, n;

	getppid_attr(&test);
	pd = test_open(SAMPLING, &test);
	n = test_read_after(pd, test_getppid, 1000, &data);
	assert_int_equal(GetWarn(), SUCCESS);
	assert_int_equal(getppids(data, n), 1000);
	for (int i = 0; i < n; i++) {
		assert_int_equal(data[i].tid, getpid());
		assert_string_equal(data[i].evt, "raw_syscalls:sys_enter");
		assert_int_equal(data[i].period, 1);
		assert_null(data[i].stack);
		assert_true(i == 0 || data[i].ts >= data[i - 1].ts);
	}
	PmuDataFree(data);
	assert_int_equal(PmuRead(pd, &data), 0);
	assert_null(data);
	assert_int_equal(Perrorno(), SUCCESS);
	PmuClose(pd);
}

/* There are two clocks, and the second has a period of its own. */
static void periods_of_events(void **state)
{
	struct EvtAttr attrs[] = {{.groupId = -1}, {.groupId = -1, .period = 10000000}};
	struct PmuData *data;
	struct test_attr test;
	int pd, n, long_ones = 0;

	test_attr(&test, "cpu-clock");
	test.events[1] = "task-clock";
	test.attr.numEvt = test.attr.numEvtAttr = 2;
	test.attr.evtAttr = attrs;
	test.attr.period = 1000000;
	test.attr.excludeKernel = 1;
	pd = test_open(SAMPLING, &test);
	PmuEnable(pd);
	test_burn(300);
	PmuDisable(pd);
	n = PmuRead(pd, &data);
	for (int i = 0; i < n; i++) {
		bool is_long = strcmp(data[i].evt, "task-clock") == 0;

		assert_true(data[i].period >= (is_long ? 10000000 : 1000000));
		long_ones += is_long;
	}
	assert_in_range(long_ones, 10, 31);
	assert_true(n - long_ones > 5 * long_ones);
	PmuDataFree(data);
	PmuClose(pd);
}

/* The number of samples of 2,000 faults, each of which stands for `period` of them. */
static int samples_of_faults(const char *event, unsigned period, unsigned own, unsigned expected)
{
	struct EvtAttr attr = {.groupId = -1, .period = own};
	struct PmuData *data;
	struct test_attr test;
	int pd, n;

	test_attr(&test, event);
	test.attr.period = period;
	test.attr.evtAttr = &attr;
	test.attr.numEvtAttr = 1;
	pd = test_open(SAMPLING, &test);
	n = test_read_after(pd, test_fault, 2000, &data);
	for (int i = 0; i < n; i++)
		assert_int_equal(data[i].period, expected);
	PmuDataFree(data);
	PmuClose(pd);
	return n * (int)expected;
}

/* Periods by precedence: of the event's attributes, of its name, of the task. */
static void a_sample_for_each_period(void **state)
{
	test_faults_are(samples_of_faults("page-faults", 0, 0, 1), 2000);
	test_faults_are(samples_of_faults("page-faults", 10, 0, 10), 2000);
	test_faults_are(samples_of_faults("page-faults", 10, 20, 20), 2000);
	test_faults_are(samples_of_faults("page-faults/period=40/", 10, 0, 40), 2000);
	test_faults_are(samples_of_faults("page-faults/period=40/", 10, 50, 50), 2000);
}

static void a_sample_for_each_period_of_a_tracepoint(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	int pd, n;

	getppid_attr(&test);
	test.events[0] = "syscalls:sys_enter_getppid";
	test.attr.period = 10;
	test.events[1] = "raw_syscalls:sys_enter/id==9999/"; /* a filter that nothing passes */
	test.attr.numEvt = 2;
	pd = test_open(SAMPLING, &test);
	n = test_read_after(pd, test_getppid, 1000, &data);
	assert_int_equal(n, 100);
	assert_int_equal(data[0].period, 10);
	assert_non_null(data[0].rawData);
	PmuDataFree(data);
	PmuClose(pd);
}

static void data_outlives_its_task(void **state)
{
	struct SampleRawField *field;
	struct PmuData *data;
	struct test_attr test, other;
	int pd, second, n;

	getppid_attr(&test);
	test_attr(&other, "page-faults");
	pd = test_open(SAMPLING, &test);
	second = PmuOpen(COUNTING, &other.attr);
	n = test_read_after(pd, test_getppid, 10, &data);
	PmuClose(second);
	PmuClose(pd);
	assert_int_equal(getppids(data, n), 10);
	field = PmuGetFieldExp(data[0].rawData, "id");
	assert_non_null(field);
	assert_string_equal(field->fieldName, "id");
	assert_string_equal(field->fieldStr, "long id");
	assert_int_equal(field->offset, 8);
	assert_int_equal(field->size, 8);
	assert_int_equal(field->isSigned, 1);
	assert_int_equal(ResolvePmuDataSymbol(data), SUCCESS);
	assert_non_null(data[0].stack);
	PmuDataFree(data);
}

static void losses_are_a_warning_with_their_number(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	unsigned lost;
	int pd, n;

	getppid_attr(&test);
	test.events[0] = "syscalls:sys_enter_getppid";
	pd = test_open(SAMPLING, &test);
	n = test_read_after(pd, test_getppid, 200000, &data);
	assert_int_equal(GetWarn(), LIBPERF_WARN_DATA_LOST);
	assert_int_equal(sscanf(GetWarnMsg(), "%u sample", &lost), 1);
	assert_int_equal(lost + (unsigned)n, 200000);
	PmuDataFree(data);
	PmuClose(pd);
}

/* Also if PmuCollect() has read the rings: one warning with the number of all of them. */
static void losses_while_collecting(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	unsigned lost, again;
	int pd, n;
	pid_t pid = fork();

	if (pid == 0) {
		raise(SIGSTOP);
		test_getppid(200000);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	getppid_attr(&test);
	test.events[0] = "syscalls:sys_enter_getppid";
	test.pids[0] = pid;
	pd = test_open(SAMPLING, &test);
	PmuEnable(pd);
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(PmuCollect(pd, -1, 100), SUCCESS);
	assert_int_equal(GetWarn(), LIBPERF_WARN_DATA_LOST);
	assert_int_equal(sscanf(GetWarnMsg(), "%u", &lost), 1);
	n = PmuRead(pd, &data);
	assert_int_equal(GetWarn(), LIBPERF_WARN_DATA_LOST);
	assert_int_equal(sscanf(GetWarnMsg(), "%u", &again), 1);
	assert_int_equal(again, lost);
	assert_int_equal((unsigned)n + lost, 200000);
	PmuDataFree(data);
	PmuClose(pd);
}

/* Samples of exec(2) of system("/bin/true"). Returns their number. */
static int samples_of_exec(struct PmuData **ret_data)
{
	struct test_attr test;
	int pd, n;

	test_need_root();
	test_attr(&test, "sched:sched_process_exec");
	pd = test_open(SAMPLING, &test);
	PmuEnable(pd);
	assert_int_equal(system("/bin/true"), 0);
	PmuDisable(pd);
	n = PmuRead(pd, ret_data);
	PmuClose(pd);
	assert_true(n > 0);
	return n;
}

static void fields_of_every_kind(void **state)
{
	struct PmuData *data;
	char name[64], small[4];
	size_t found = 0;
	int n;

	n = samples_of_exec(&data);
	for (int i = 0; i < n; i++) {
		/* filename has a variable length (__data_loc). */
		assert_int_equal(
			PmuGetField(data[i].rawData, "filename", name, sizeof(name)), SUCCESS);
		found += strcmp(name, "/bin/true") == 0;
		test_returns(PmuGetField(data[i].rawData, "filename", small, sizeof(small)),
			LIBPERF_ERR_INVALID_FIELD_ARGS);
	}
	assert_int_equal(found, 1);
	test_returns(PmuGetField(data[0].rawData, "none", name, sizeof(name)),
		LIBPERF_ERR_FIND_FIELD_LOSS);
	assert_null(PmuGetFieldExp(data[0].rawData, "none"));
	test_error_is(LIBPERF_ERR_FIND_FIELD_LOSS);
	PmuDataFree(data);
}

/* Whether the stack has the function, with an address in it. */
static bool has_function(const struct Stack *stack, const char *name)
{
	for (; stack; stack = stack->next) {
		const struct Symbol *s = stack->symbol;

		assert_true(!stack->next || stack->next->prev == stack);
		if (strcmp(s->symbolName, name) != 0)
			continue;
		assert_true(s->addr - s->offset == (unsigned long)test_burn);
		assert_true(s->codeMapAddr < s->codeMapEndAddr + 1);
		assert_non_null(strstr(s->module, "kperf_sample"));
		return true;
	}
	return false;
}

static void names_of_functions(enum SymbolMode mode, bool later)
{
	struct PmuData *data;
	struct test_attr test;
	int pd, n, found = 0;

	test_sampling_attr(&test, mode);
	pd = test_open(SAMPLING, &test);
	PmuEnable(pd);
	test_burn(300);
	PmuDisable(pd);
	n = PmuRead(pd, &data);
	assert_in_range(n, 100, 1000);
	if (later) {
		assert_null(data[n / 2].stack);
		assert_int_equal(ResolvePmuDataSymbol(data), SUCCESS);
	}
	for (int i = 0; i < n; i++) {
		assert_non_null(data[i].stack);
		found += has_function(data[i].stack, "test_burn");
	}
	assert_in_range(found, n * 9 / 10, n);
	PmuDataFree(data);
	PmuClose(pd);
}

static void symbols_at_once(void **state)
{
	names_of_functions(RESOLVE_ELF, false);
	names_of_functions(RESOLVE_ELF_DWARF, false);
}

static void symbols_later(void **state)
{
	names_of_functions(NO_SYMBOL_RESOLVE, true);
	names_of_functions(RESOLVE_DELAY_ELF, true);
	names_of_functions(RESOLVE_DELAY_DWARF, true);
}

static void appended_data_is_independent(void **state)
{
	struct PmuData *first, *second, *all = NULL;
	struct test_attr test;
	int pd, n, m;

	getppid_attr(&test);
	pd = test_open(SAMPLING, &test);
	PmuEnable(pd);
	test_getppid(5);
	n = PmuRead(pd, &first);
	test_getppid(7);
	m = PmuRead(pd, &second);
	PmuDisable(pd);
	assert_int_equal(PmuAppendData(first, &all), n);
	assert_int_equal(PmuAppendData(second, &all), n + m);
	PmuDataFree(first);
	PmuClose(pd);
	assert_int_equal(getppids(all, n + m), 12);
	PmuDataFree(second);
	assert_int_equal(ResolvePmuDataSymbol(all), SUCCESS);
	assert_non_null(all[n].stack);
	PmuDataFree(all);
}

static void dumped_data_is_text(void **state)
{
	char path[] = "/tmp/kperf-XXXXXX", line[512], wanted[128];
	struct PmuData *data;
	struct test_attr test;
	int pd, n, rows = 0, fd = mkstemp(path);
	FILE *file;

	assert_true(fd >= 0);
	test_attr(&test, "page-faults");
	test.attr.symbolMode = RESOLVE_ELF;
	pd = test_open(SAMPLING, &test);
	n = test_read_after(pd, test_fault, 20, &data);
	test_faults_are(n, 20);
	assert_int_equal(PmuDumpData(data, (unsigned)n, path, 1), SUCCESS);
	assert_int_equal(PmuDumpData(data, (unsigned)n, path, 0), SUCCESS);
	assert_int_equal(PmuDumpData(data, (unsigned)n + 100000, path, 0), -1);
	test_error_is(LIBPERF_ERR_INVALID_PMU_DATA);
	assert_int_equal(PmuDumpData(data + 1, 1, "/dev/null", 0), SUCCESS);
	snprintf(wanted, sizeof(wanted), "%s %d %d", data[0].comm, getpid(), getpid());
	file = fdopen(fd, "r");
	while (fgets(line, sizeof(line), file)) {
		rows += strncmp(line, wanted, strlen(wanted)) == 0;
		if (strstr(line, "test_fault"))
			assert_non_null(strstr(line, "+0x"));
	}
	assert_int_equal(rows, 2 * n);
	fclose(file);
	unlink(path);
	PmuDataFree(data);
	PmuClose(pd);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void time_off_the_cpu(void **state)
{
	struct timespec nap = {.tv_nsec = 50000000};
	struct PmuData *data;
	struct test_attr test;
	uint64_t slept;
	int pd, n, on_cpu = 0, naps = 0;
	bool is_clock;

	test_need_root(); /* switches are events of the kernel */
	test_attr(&test, NULL);
	test.attr.evtList = NULL;
	test.attr.numEvt = 0;
	test.attr.blockedSample = 1;
	test.attr.useFreq = 1;
	test.attr.freq = 1000;
	test.attr.symbolMode = RESOLVE_ELF;
	pd = test_open(SAMPLING, &test);
	is_clock = GetWarn() == LIBPERF_WARN_REPLACED;
	PmuEnable(pd);
	test_burn(100);
	slept = now();
	nanosleep(&nap, NULL);
	slept = now() - slept;
	test_burn(20);
	PmuDisable(pd);
	n = PmuRead(pd, &data);
	for (int i = 0; i < n; i++) {
		bool is_switch = strcmp(data[i].evt, "context-switches") == 0;

		on_cpu += !is_switch;
		if (!is_switch || data[i].period < 50000000 || data[i].period > slept)
			continue;
		naps++;
		assert_null(strstr(data[i].stack->symbol->module, "[kernel]"));
	}
	assert_in_range(on_cpu, 50, 1000);
	/* Without cycles the unit of periods is ns. */
	if (is_clock)
		assert_true(naps >= 1);
	PmuDataFree(data);
	PmuClose(pd);
}

static void samples_of_a_program_from_its_exec_on(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	struct test_child child;
	int pd, n, right;

	for (int enables = 0; enables < 2; enables++) {
		test_child_start_exec(
			&child, 200000, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
		test_attr(&test, "cpu-clock");
		test.pids[0] = child.pid;
		test.attr.period = 1000000;
		test.attr.enableOnExec = 1;
		test.attr.symbolMode = RESOLVE_ELF;
		pd = test_open(SAMPLING, &test);
		if (enables)
			assert_int_equal(PmuEnable(pd), SUCCESS);
		test_child_exec(&child);
		waitpid(child.pid, NULL, 0);
		n = PmuRead(pd, &data);
		assert_true(n > 10);
		right = 0;
		for (int i = 0; i < n; i++)
			right += strcmp(data[i].comm, "sh") == 0 && data[i].pid == child.pid;
		assert_true(right >= n - 2);
		PmuDataFree(data);
		PmuClose(pd);
	}
}

static void *collect(void *pd)
{
	return (void *)(intptr_t)PmuCollect(*(int *)pd, -1, 100);
}

/* Process 1 does not end. A PmuStop() before PmuCollect() has no effect. */
static void other_threads_end_a_collection(void **state)
{
	void (*const ends[])(int pd) = {PmuStop, PmuClose};
	struct test_attr test;

	test_need_root();
	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		int pd;

		test_attr(&test, "page-faults");
		test.pids[0] = 1;
		pd = test_open(SAMPLING, &test);
		assert_int_equal(pthread_create(&thread, NULL, collect, &pd), 0);
		do {
			test_burn(20);
			ends[i](pd);
		} while (pthread_tryjoin_np(thread, NULL) != 0);
		if (i == 0)
			PmuClose(pd);
	}
}

static void per_thread(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	int pd;

	test_attr(&test, "page-faults");
	test.attr.perThread = 1;
	pd = test_open(SAMPLING, &test);
	PmuEnable(pd); /* first use of this code faults, too */
	PmuDisable(pd);
	PmuRead(pd, &data);
	PmuDataFree(data);
	PmuEnable(pd);
	test_fault(30);
	PmuDisable(pd);
	test_faults_are(PmuRead(pd, &data), 30);
	PmuDataFree(data);
	PmuClose(pd);
}

static void a_collection_reads_while_it_waits(void **state)
{
	struct PmuData *data;
	struct test_attr test;
	int pd, n;

	test_attr(&test, "cpu-clock");
	test.attr.numPid = 0;
	test.attr.period = 10000000;
	test_need_root();
	pd = test_open(SAMPLING, &test);
	assert_int_equal(PmuCollect(pd, 250, 100), SUCCESS);
	n = PmuRead(pd, &data);
	assert_in_range(n, 1, 100 * sysconf(_SC_NPROCESSORS_ONLN));
	PmuDataFree(data);
	assert_int_equal(PmuCollectV(&pd, 1, 50), SUCCESS);
	PmuRead(pd, &data);
	PmuDataFree(data);
	PmuClose(pd);
}

static void handlers_of(const int *signals, size_t n, struct sigaction *ret)
{
	for (size_t i = 0; i < n; i++)
		sigaction(signals[i], NULL, &ret[i]);
}

/* The host's signal handlers are unchanged, even while files are read for names and lines. */
static void handlers_are_unchanged(void **state)
{
	const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGIO, SIGCHLD};
	struct sigaction before[5], after[5];
	struct Symbol *symbol;
	struct PmuData *data;
	struct test_attr test;
	int pd;

	handlers_of(signals, 5, before);
	test_attr(&test, "cpu-clock");
	test.attr.symbolMode = RESOLVE_ELF_DWARF;
	pd = test_open(SAMPLING, &test);
	PmuEnable(pd);
	test_burn(20);
	assert_true(PmuRead(pd, &data) > 0);
	assert_int_equal(SymResolverRecordModule(getpid()), SUCCESS);
	symbol = SymResolverMapAddr(getpid(), (unsigned long)test_burn);
	handlers_of(signals, 5, after);
	for (size_t i = 0; i < 5; i++)
		assert_true(before[i].sa_handler == after[i].sa_handler);
	FreeSymbolPtr(symbol);
	SymResolverDestroy();
	PmuDataFree(data);
	PmuClose(pd);
}

/* blockedSample chooses the events itself: those are not written into the caller's attributes. */
static void attributes_of_blocked_samples_are_unchanged(void **state)
{
	struct test_attr test, copy;
	int pd;

	test_attr(&test, NULL);
	test.attr.evtList = NULL;
	test.attr.numEvt = 0;
	test.attr.blockedSample = 1;
	copy = test;
	pd = test_open(SAMPLING, &test);
	assert_memory_equal(&test, &copy, sizeof(test));
	PmuClose(pd);
}

/* A location of a field that is outside its record is an error, and nothing is copied. */
static void a_damaged_record(void **state)
{
	const uint32_t outside = 0x00100fff;
	char name[32] = "untouched";
	struct SampleRawField *field;
	struct PmuData *data;

	samples_of_exec(&data);
	field = PmuGetFieldExp(data[0].rawData, "filename");
	assert_int_equal(field->size, sizeof(outside));
	memcpy(data[0].rawData->data + field->offset, &outside, sizeof(outside));
	test_returns(PmuGetField(data[0].rawData, "filename", name, sizeof(name)),
		LIBPERF_ERR_BUFFER_CORRUPTED);
	assert_string_equal(name, "untouched");
	PmuDataFree(data);
}

/* The caller's process stays as it is: limits, descriptors of children, attributes. */
static void the_host_is_unchanged(void **state)
{
	struct rlimit before, after;
	struct PmuData *data;
	struct test_attr test, copy;
	char path[64], target[64];
	int pd, left = 0;

	getrlimit(RLIMIT_NOFILE, &before);
	test_attr(&test, "cpu-clock");
	copy = test;
	pd = test_open(SAMPLING, &test);
	assert_memory_equal(&test, &copy, sizeof(test));
	PmuEnable(pd);
	for (int fd = 3; fd < 200; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		if (n > 0 && strncmp(target, "anon_inode:", 11) == 0)
			left += !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	assert_int_equal(left, 0);
	PmuRead(pd, &data);
	PmuDataFree(data);
	PmuClose(pd);
	getrlimit(RLIMIT_NOFILE, &after);
	assert_memory_equal(&before, &after, sizeof(before));
}

/* Each of this many threads faults once it is told to, whether it exists yet or not. */
enum { NEW_THREADS = 40 };

static void *fault_when_told(void *arg)
{
	char byte;

	if (read(*(int *)arg, &byte, 1) == 1)
		test_fault(3);
	return NULL;
}

/* Creates the threads at once; each needs a byte of the pipe to work. */
static void create_threads(int start, int go)
{
	pthread_t threads[NEW_THREADS];
	char byte;

	if (read(start, &byte, 1) != 1)
		_exit(1);
	for (int i = 0; i < NEW_THREADS; i++)
		if (pthread_create(&threads[i], NULL, fault_when_told, &go) != 0)
			_exit(1);
	for (int i = 0; i < NEW_THREADS; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

/* The number of threads with samples, besides the first one. */
static int threads_with_samples(const struct PmuData *data, int n, pid_t first)
{
	int tids[NEW_THREADS], found = 0;

	for (int i = 0; i < n; i++) {
		int at = 0;

		while (at < found && tids[at] != data[i].tid)
			at++;
		if (at < found || data[i].tid == first)
			continue;
		assert_int_equal(data[i].pid, first);
		assert_true(found < NEW_THREADS);
		tids[found++] = data[i].tid;
	}
	return found;
}

/* A process creates threads during PmuOpen(): none of them is missing. */
static void threads_that_are_created_meanwhile(void **state)
{
	static const char bytes[NEW_THREADS];

	for (int run = 0; run < 24; run++) {
		struct PmuData *data;
		struct test_attr test;
		int start[2], go[2], pd, n, status;
		pid_t child;

		assert_int_equal(pipe(start), 0);
		assert_int_equal(pipe(go), 0);
		child = fork();
		if (child == 0)
			create_threads(start[0], go[0]);
		test_attr(&test, "page-faults");
		test.pids[0] = child;
		test.attr.period = 1;
		assert_int_equal(write(start[1], bytes, 1), 1);
		pd = test_open(SAMPLING, &test);
		assert_int_equal(PmuEnable(pd), SUCCESS);
		assert_int_equal(write(go[1], bytes, NEW_THREADS), NEW_THREADS);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		PmuDisable(pd);
		n = PmuRead(pd, &data);
		assert_int_equal(threads_with_samples(data, n, child), NEW_THREADS);
		PmuDataFree(data);
		PmuClose(pd);
		for (int i = 0; i < 2; i++) {
			close(start[i]);
			close(go[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_of_a_tracepoint),
		cmocka_unit_test(periods_of_events),
		cmocka_unit_test(a_sample_for_each_period),
		cmocka_unit_test(a_sample_for_each_period_of_a_tracepoint),
		cmocka_unit_test(data_outlives_its_task),
		cmocka_unit_test(losses_are_a_warning_with_their_number),
		cmocka_unit_test(losses_while_collecting),
		cmocka_unit_test(fields_of_every_kind),
		cmocka_unit_test(symbols_at_once),
		cmocka_unit_test(symbols_later),
		cmocka_unit_test(appended_data_is_independent),
		cmocka_unit_test(dumped_data_is_text),
		cmocka_unit_test(time_off_the_cpu),
		cmocka_unit_test(samples_of_a_program_from_its_exec_on),
		cmocka_unit_test(other_threads_end_a_collection),
		cmocka_unit_test(per_thread),
		cmocka_unit_test(threads_that_are_created_meanwhile),
		cmocka_unit_test(a_collection_reads_while_it_waits),
		cmocka_unit_test(the_host_is_unchanged),
		cmocka_unit_test(handlers_are_unchanged),
		cmocka_unit_test(attributes_of_blocked_samples_are_unchanged),
		cmocka_unit_test(a_damaged_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
