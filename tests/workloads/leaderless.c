/* SPDX-License-Identifier: MIT */
/*
 * A process whose main thread exits at once (pthread_exit(3)), while another runs. Expected: all
 * time is in busy(), called by worker(), which also causes a page fault in a mapping of the
 * program's file before each call. It prints its process ID when the main thread has exited, and
 * ends with its standard input.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

enum { PAGE_BYTES = 4096 };

static KEEP void busy(void)
{
	turns(2000000);
}

static void *page;

/* Before the main thread exits, with which /proc/self/exe becomes unreadable. */
static int map_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	page = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return page == MAP_FAILED ? -1 : 0;
}

static void fault(void)
{
	madvise(page, PAGE_BYTES, MADV_DONTNEED);
	(void)*(volatile char *)page;
}

static KEEP void *worker(void *main_thread)
{
	struct pollfd end = {.fd = STDIN_FILENO, .events = POLLIN};

	pthread_join(*(pthread_t *)main_thread, NULL);
	printf("%d\n", getpid());
	fflush(stdout);
	while (poll(&end, 1, 0) == 0) {
		fault();
		busy();
	}
	_exit(0);
}

int main(void)
{
	static pthread_t self;
	pthread_t thread;

	self = pthread_self();
	if (map_file() < 0 || pthread_create(&thread, NULL, worker, &self))
		return 1;
	pthread_exit(NULL);
}
