/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc_memory.h"

enum { PAGE = 4096, PAGES = 40, OTHER = 65534 };

/* Pages that are followed by one that is not mapped; each byte tells where it is. */
static uint8_t *make_pages(void)
{
	uint8_t *pages = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	munmap(pages + PAGES * PAGE, PAGE);
	for (size_t i = 0; i < PAGES * PAGE; i++)
		pages[i] = (uint8_t)(i * 7 + i / PAGE);
	return pages;
}

static ssize_t read_own(const uint8_t *from, void *to, size_t n)
{
	return proc_memory_read(getpid(), (uint64_t)(uintptr_t)from, to, n);
}

static void test_reads(void **state)
{
	uint8_t *pages = make_pages(), *copy = malloc((PAGES + 1) * PAGE);

	/* more than the child copies at once, from the middle of a page */
	assert_int_equal(read_own(pages + 100, copy, 30 * PAGE), 30 * PAGE);
	assert_memory_equal(copy, pages + 100, 30 * PAGE);
	assert_int_equal(read_own(pages + 1, copy, 1), 1);
	assert_int_equal(copy[0], pages[1]);
	assert_int_equal(read_own(pages, copy, 0), 0);
	free(copy);
	munmap(pages, PAGES * PAGE);
}

static void test_stops_at_a_hole(void **state)
{
	uint8_t *pages = make_pages(), *copy = malloc((PAGES + 1) * PAGE);

	proc_memory_hold();
	for (size_t n = 1; n < PAGES * PAGE; n = n * 5 + 3) {
		const uint8_t *from = pages + PAGES * PAGE - n;

		assert_int_equal(read_own(from, copy, n + PAGE), n);
		assert_memory_equal(copy, from, n);
	}
	assert_int_equal(read_own(pages + PAGES * PAGE, copy, 1), -EFAULT);
	assert_int_equal(read_own(NULL, copy, 8), -EFAULT);
	proc_memory_release();
	free(copy);
	munmap(pages, PAGES * PAGE);
}

static void test_process_that_has_exited(void **state)
{
	pid_t pid = fork();
	char byte;

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_memory_read(pid, PAGE, &byte, 1), -ESRCH);
}

/* The caller's wait(2) does not find the child; none is left after the last release. */
static void test_child(void **state)
{
	proc_memory_hold();
	proc_memory_hold();
	proc_memory_release();
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), 0);
	proc_memory_release();
	assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* A process that is forked while the memory is held uses a child of its own. */
static void test_fork(void **state)
{
	static const char text[] = "text";
	char copy[sizeof(text)] = "";
	pid_t pid;
	int status;

	proc_memory_hold();
	pid = fork();
	if (pid == 0)
		_exit(read_own((const uint8_t *)text, copy, sizeof(text)) != sizeof(text) ||
			strcmp(copy, text));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read_own((const uint8_t *)text, copy, sizeof(text)), sizeof(text));
	assert_string_equal(copy, text);
	proc_memory_release();
}

/* Whoever kills the child makes one read fail. */
static void test_killed_child(void **state)
{
	char byte = 0, copy;
	siginfo_t info;
	pid_t child = 0;

	proc_memory_hold();
	for (pid_t pid = getpid() + 1; !child && pid < getpid() + 10000; pid++)
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0)
			child = pid;
	assert_true(child > 0);
	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT | __WALL), 0);
	assert_int_equal(read_own((const uint8_t *)&byte, &copy, 1), -EPIPE);
	assert_int_equal(read_own((const uint8_t *)&byte, &copy, 1), 1);
	proc_memory_release();
}

/* Of another user, with a page of which no read ends. 0: this kernel or user cannot make one. */
static pid_t start_stalled(uint64_t *ret_address)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.range.len = PAGE, .mode = UFFDIO_REGISTER_MODE_MISSING};
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ends[2], fd;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
		range.range.start = (uintptr_t)page;
		if (ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &range) < 0 ||
			setresuid(OTHER, OTHER, OTHER) < 0 ||
			prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || write(ends[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(1);
	}
	close(ends[1]);
	*ret_address = (uintptr_t)page;
	if (read(ends[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(ends[0]);
	munmap(page, PAGE);
	return pid;
}

/* After two of them, nothing of this user is read for a while. */
static void test_stalls_of_another_user(void **state)
{
	static const char text[] = "text";
	char copy[sizeof(text)] = "";
	uint64_t address;
	pid_t pid = start_stalled(&address);

	if (!pid)
		skip();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(proc_memory_read(pid, address, copy, 1), -ETIMEDOUT);
		assert_int_equal(read_own((const uint8_t *)text, copy, sizeof(text)), sizeof(text));
		assert_string_equal(copy, text);
	}
	assert_int_equal(proc_memory_read(pid, (uint64_t)(uintptr_t)text, copy, 1), -ETIMEDOUT);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_stops_at_a_hole),
		cmocka_unit_test(test_process_that_has_exited),
		cmocka_unit_test(test_child),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_killed_child),
		cmocka_unit_test(test_stalls_of_another_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
