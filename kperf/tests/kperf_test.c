/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "kperf_test.h"

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

void test_error_is(int code)
{
	assert_int_equal(Perrorno(), code);
	assert_true(strlen(Perror()) > 10);
}
