/* SPDX-License-Identifier: MIT */
/*
 * LD_PRELOAD: damages a ring of the kernel, once.
 *
 *     FAULT_RING=CPU  after waiting, the program sees only the begin of the second record of the
 *                     ring of this CPU; rings are mapped in the order of CPUs
 */
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int rings_before = -1; /* that are mapped before the one to damage; -1: none, or found */
static struct perf_event_mmap_page *ring;
static uint64_t shown; /* the position that the kernel seems to have reached */

static __attribute__((constructor)) void begin(void)
{
	const char *cpu = getenv("FAULT_RING");

	unsetenv("LD_PRELOAD");
	if (cpu)
		rings_before = atoi(cpu);
}

static bool is_perf_event(int fd)
{
	char path[32], target[32] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fd >= 0 && readlink(path, target, sizeof(target) - 1) > 0 &&
	       !strcmp(target, "anon_inode:[perf_event]");
}

EXPORT void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *p = (void *)syscall(SYS_mmap, at, len, prot, flags, fd, offset);

	/* one page alone has no ring: counts are read there */
	if (rings_before >= 0 && p != MAP_FAILED && len > (size_t)sysconf(_SC_PAGESIZE) &&
		is_perf_event(fd) && rings_before-- == 0)
		ring = p;
	return p;
}

/* The kernel sets its position again with the next record that it writes. */
static void damage(void)
{
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE), at = ring->data_tail;
	const char *data = (const char *)ring + ring->data_offset;
	const struct perf_event_header *first = (const void *)(data + at % ring->data_size);

	if (shown && at == shown)
		ring = NULL; /* it was read up to there */
	else if (at < head && at + first->size < head)
		ring->data_head = shown = at + first->size + sizeof(*first);
}

EXPORT int munmap(void *at, size_t len)
{
	if (at == ring)
		ring = NULL;
	return (int)syscall(SYS_munmap, at, len);
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
	int r = (int)syscall(SYS_ppoll, fds, n, timeout_ms < 0 ? NULL : &t, NULL, 0);

	if (ring)
		damage();
	return r;
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int n, int timeout_ms)
{
	int r = (int)syscall(SYS_epoll_pwait, fd, events, n, timeout_ms, NULL, 0);

	if (ring)
		damage();
	return r;
}
