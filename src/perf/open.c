/* SPDX-License-Identifier: MIT */
#include "perf/open.h"

#include <sys/syscall.h>

#include "record/uapi.h"

/* Sizes that kernels have published, PERF_ATTR_SIZE_VER0 and later. */
static const uint32_t attr_sizes[] = {64, 72, 80, 96, 104, 112, 120, 128, 136, 144};

uint32_t open_attr_size(const union uapi_attr *attr)
{
	size_t n = ARRAY_SIZE(attr->words), used;

	while (n && !attr->words[n - 1])
		n--;
	used = n * sizeof(attr->words[0]);
	for (size_t i = 0; i < ARRAY_SIZE(attr_sizes); i++)
		if (used <= attr_sizes[i])
			return attr_sizes[i];
	return sizeof(*attr);
}

int open_event(union uapi_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
	long fd;

	attr->attr.size = 0; /* not a field that counts for the size */
	attr->attr.size = open_attr_size(attr);
	do {
		fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd,
			flags | PERF_FLAG_FD_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : (int)fd;
}
